"use strict";
(() => {
  const sums = JSON.parse(document.getElementById("sums").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const LEFT = 68, TOP = 12, SIZE = 380, LABEL = TOP + SIZE + 38, BARS_TOP = LABEL + 12, BARS = 46, FEW = 5;
  const tip = document.querySelector(".tip");

  // A number of the page is written as the library writes it: ties go to the even digit.
  const fixed = (value, digits) => {
    const text = value.toFixed(digits);
    const exact = Math.abs(value).toFixed(Math.min(100, digits + 50));
    const cut = exact.length - 50;
    if (!/^50*$/.test(exact.slice(cut)) || digits === 0) return text;
    const below = exact.slice(0, cut);
    const even = Number(below[below.length - 1]) % 2 === 0;
    const chosen = even ? below : Math.abs(value).toFixed(digits);
    return (value < 0 ? "-" : "") + chosen;
  };
  const number = (value, digits = 4) => {
    if (value === null || Number.isNaN(value)) return "–";
    if (Math.abs(value) <= 1e-12) value = 0;
    else if (Math.abs(value) < 10 ** (1 - digits)) digits = Math.min(12, 1 - Math.floor(Math.log10(Math.abs(value))));
    return fixed(value, digits).replace("-", "−");
  };
  const signed = (value) => (value > 0 ? "+" : "") + number(value);
  const binName = ({ from, to, last }) => {
    const apart = (a, b) => (a !== b || from === to) && (a !== 1 || from === 1) && (b !== 1 || to === 1);
    let a, b;
    for (let digits = 4; digits < 18; digits++) {
      [a, b] = [from, to].map((edge) => Number(edge.toPrecision(digits)));
      if (apart(a, b)) break;
    }
    return `[${a}, ${b}${last ? "]" : ")"}`;
  };
  const rows = (n) => n.toLocaleString("en-US") + (n === 1 ? " row" : " rows");

  // The library adds up in this order; so do we, to get the same bits.
  const pairwise = (values, from = 0, n = values.length) => {
    if (n < 8) {
      let total = n ? values[from] : 0;
      for (let i = 1; i < n; i++) total += values[from + i];
      return total;
    }
    if (n > 128) {
      let half = Math.floor(n / 2);
      half -= half % 8;
      return pairwise(values, from, half) + pairwise(values, from + half, n - half);
    }
    const r = values.slice(from, from + 8);
    let i = 8;
    for (; i < n - (n % 8); i += 8) for (let j = 0; j < 8; j++) r[j] += values[from + i + j];
    let total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; i++) total += values[from + i];
    return total;
  };

  const binsOf = (view, rule, count) => {
    const { start, edges, low, high, least, most, outside } = view.rules[rule][count];
    const run = (column, b) => {
      let total = 0;
      for (let i = start[b]; i < start[b + 1]; i++) total += column[i];
      return total;
    };
    const weights = view.weight || view.n;
    const bins = [];
    for (let b = 0; b + 1 < start.length; b++) {
      const weight = run(weights, b), events = run(view.events, b);
      const score = view.high ? run(view.high, b) * 2 ** -26 + run(view.low, b) * 2 ** -53 : run(view.sum_score, b);
      bins.push({
        n: run(view.n, b), weight, excess: events - score, score: score / weight, rate: events / weight,
        gap: (events - score) / weight, low: low[b], high: high[b], from: edges[b], to: edges[b + 1],
        last: b + 2 === start.length, least: least && least[b], most: most && most[b],
        flagged: Boolean(outside && outside.includes(b)),
      });
    }
    return bins;
  };
  const eceOf = (bins) => {
    let weight = 0;
    for (const bin of bins) weight += bin.weight;
    return pairwise(bins.map((bin) => Math.abs(bin.excess))) / weight;
  };

  const make = (parent, name, attributes, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };
  const point = (parent, x, y, r, flagged) => {
    const d = 1.3 * r;
    return flagged
      ? make(parent, "polygon", { points: `${x},${y - d} ${x + d},${y} ${x},${y + d} ${x - d},${y}`, class: "point" })
      : make(parent, "circle", { cx: x, cy: y, r, class: "point" });
  };

  const words = (bin, beyond) =>
    `${binName(bin)}: ${rows(bin.n)}\nmean score ${number(bin.score)}, rate ${number(bin.rate)}\n` +
    `${sums.level} interval ${number(bin.low)} to ${number(bin.high)}\ngap ${signed(bin.gap)}` +
    `${bin.flagged ? ", flagged" : ""}${beyond ? ", beyond the axes" : ""}`;

  const draw = (svg, view, bins, axes) => {
    const along = { linear: (v) => v, log: Math.log, logit: (v) => Math.log(v / (1 - v)) }[axes.scale];
    const from = along(axes.low), to = along(axes.high);
    const share = (v) => (along(Math.min(Math.max(v, axes.low), axes.high)) - from) / (to - from);
    const x = (v) => LEFT + SIZE * share(v), y = (v) => TOP + SIZE * (1 - share(v));
    const beyond = (v) => v < axes.low || v > axes.high;
    svg.replaceChildren();
    axes.ticks.forEach((v, i) => {
      make(svg, "line", { x1: LEFT, x2: LEFT + SIZE, y1: y(v), y2: y(v), class: "grid" });
      make(svg, "line", { x1: x(v), x2: x(v), y1: TOP, y2: TOP + SIZE, class: "grid" });
      make(svg, "text", { x: LEFT - 7, y: y(v) + 4, class: "tick", "text-anchor": "end" }, axes.labels[i]);
      make(svg, "text", { x: x(v), y: TOP + SIZE + 17, class: "tick", "text-anchor": "middle" }, axes.labels[i]);
    });
    make(svg, "text", { x: LEFT + SIZE / 2, y: LABEL, class: "axis", "text-anchor": "middle" }, view.x_name);
    const middle = TOP + SIZE / 2;
    make(svg, "text", { x: 12, y: middle, class: "axis", "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, view.y_name);
    make(svg, "line", { x1: LEFT, y1: TOP + SIZE, x2: LEFT + SIZE, y2: TOP, class: "diagonal" });
    const marks = make(svg, "g", { class: "marks" });
    const filled = bins.filter((bin) => bin.n > 0), heaviest = Math.max(...bins.map((bin) => bin.weight));
    if (filled.length && Number.isFinite(filled[0].least)) {
      const reach = filled.length === 1 ? [-0.02 * SIZE, 0.02 * SIZE] : [0];
      const side = (name) => filled.flatMap((bin) => reach.map((d) => `${x(bin.score) + d},${y(bin[name])}`));
      make(marks, "polygon", { points: [...side("least"), ...side("most").reverse()].join(" "), class: "band" });
    }
    // Only neighbouring bins on the axes with FEW rows or more are joined.
    const runs = bins.reduce((all, bin) => {
      if (bin.n < FEW || beyond(bin.score) || beyond(bin.rate)) all.push([]);
      else all.at(-1).push(`${x(bin.score)},${y(bin.rate)}`);
      return all;
    }, [[]]);
    runs.filter((run) => run.length > 1).forEach((run) => make(marks, "polyline", { points: run.join(" "), class: "curve" }));
    filled.forEach((bin, i) => {
      const away = beyond(bin.score) || beyond(bin.rate), label = words(bin, away);
      const g = make(marks, "g", { class: `bin${bin.flagged ? " flagged" : ""}${away ? " beyond" : ""}`, tabindex: i ? -1 : 0, role: "img", "aria-label": label.replaceAll("\n", ", ") });
      make(g, "line", { x1: x(bin.score), x2: x(bin.score), y1: y(bin.low), y2: y(bin.high), class: "error" });
      point(g, x(bin.score), y(bin.rate), 3.5 + 3 * Math.sqrt(bin.weight / heaviest), bin.flagged);
      tooltip(g, label);
    });
    roving(marks);
    const heights = axes.histogram, most = Math.max(...heights), step = SIZE / heights.length;
    heights.forEach((v, i) => {
      if (v > 0) {
        const tall = Math.max(1, (BARS * v) / most);
        make(svg, "rect", { x: LEFT + i * step, y: BARS_TOP + BARS - tall, width: step * 0.88, height: tall, class: "bar" });
      }
    });
    make(svg, "line", { x1: LEFT, x2: LEFT + SIZE, y1: BARS_TOP + BARS, y2: BARS_TOP + BARS, class: "grid" });
    make(svg, "text", { x: LEFT - 7, y: BARS_TOP + 10, class: "tick", "text-anchor": "end" }, "rows");
  };

  // One stop of the Tab key per picture; arrows go from mark to mark.
  const roving = (group) => {
    group.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      const all = [...group.querySelectorAll("[tabindex]")], at = all.indexOf(document.activeElement);
      if (!move || at < 0) return;
      event.preventDefault();
      const next = all[Math.min(all.length - 1, Math.max(0, at + move))];
      all[at].setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    });
  };
  const tooltip = (node, text) => {
    const show = (event) => {
      tip.textContent = text;
      tip.hidden = false;
      const box = node.getBoundingClientRect();
      const at = event.clientX === undefined ? { x: box.right, y: box.top } : { x: event.clientX, y: event.clientY };
      tip.style.left = `${Math.max(4, Math.min(at.x + 14, innerWidth - tip.offsetWidth - 8))}px`;
      tip.style.top = `${Math.max(4, Math.min(at.y + 14, innerHeight - tip.offsetHeight - 8))}px`;
    };
    const hide = () => { tip.hidden = true; };
    for (const name of ["mouseenter", "mousemove", "focus"]) node.addEventListener(name, show);
    for (const name of ["mouseleave", "blur"]) node.addEventListener(name, hide);
  };
  addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

  // Begins with other bins than those of the first diagram: of equal mass, or of equal width if that has equal mass.
  const explore = (part) => {
    const model = sums.models[Number(part.dataset.model)], svg = part.querySelector(".explorer svg.reliability");
    const find = (name) => part.querySelector(name);
    const first = model.views[0], radios = [...part.querySelectorAll(".rules input")], slider = find(".number");
    const chosen = () => radios.find((one) => one.checked).value;
    const other = first.rule === "mass" ? "width" : "mass", fixedBins = radios.length === 1;
    (radios.find((one) => one.value === other) || radios[0]).checked = true;
    slider.value = Math.max(0, sums.offered.indexOf(first.rule === "given" ? 10 : Number(first.bins)));
    find(".rules").hidden = find(".count").hidden = fixedBins;
    find(".explorer").hidden = fixedBins && model.views.length === 1;
    find(".zoom").checked = true;
    find(".view-label").hidden = model.views.length === 1;
    const redraw = () => {
      const view = model.views[Number(find(".view").value)], rule = chosen(), given = rule === "given";
      const count = given ? Object.keys(view.rules.given)[0] : String(sums.offered[slider.value]);
      const bins = binsOf(view, rule, count), ece = eceOf(bins), near = view.near || view.whole;
      const asked = view === first && rule === first.rule && count === first.bins;
      // The band of the first picture was computed from every single score, the others from scores pooled in fine cells.
      if (asked && model.band) bins.forEach((bin, b) => Object.assign(bin, { least: model.band.low[b], most: model.band.high[b], flagged: model.band.outside[b] }));
      slider.disabled = given;
      slider.setAttribute("aria-valuetext", `${count} bins`);
      find(".shown").textContent = count;
      find(".closer").hidden = !view.near;
      find(".ece").textContent = number(ece);
      find(".ece").dataset.value = ece;
      const filled = bins.filter((bin) => bin.n > 0).length;
      find(".what").textContent = `in ${count} bins ${given ? "as requested" : "of equal " + rule}` + (filled < Number(count) ? `, ${filled} with rows` : "") + (view === first ? "" : `, ${view.name}`);
      svg.setAttribute("aria-label", `Reliability diagram of ${filled} bins`);
      draw(svg, view, bins, find(".zoom").checked ? near : view.whole);
    };
    for (const one of [...radios, slider, find(".view"), find(".zoom")]) one.addEventListener("input", redraw);
    redraw();
  };

  const sortable = (table) => {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => {
          const cell = row.cells[column];
          return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
        };
        const order = (a, b) => {
          const p = key(a), q = key(b);
          if (typeof p === "string") return (up ? 1 : -1) * p.localeCompare(q);
          if (Number.isNaN(p) || Number.isNaN(q)) return Number(Number.isNaN(p)) - Number(Number.isNaN(q));
          return (up ? 1 : -1) * (p - q);
        };
        body.append(...[...body.rows].sort(order));
      });
    });
  };

  const tabs = [...document.querySelectorAll("[role=tab]")];
  const panels = (tab) => tab.getAttribute("aria-controls").split(" ").map((id) => document.getElementById(id));
  const select = (tab, focus) => {
    for (const one of tabs) {
      const on = one === tab;
      one.setAttribute("aria-selected", on);
      one.tabIndex = on ? 0 : -1;
      for (const panel of panels(one)) panel.hidden = !on;
    }
    if (focus) tab.focus();
  };
  tabs.forEach((tab, i) => {
    panels(tab)[0].setAttribute("role", "tabpanel");
    tab.addEventListener("click", (event) => { event.preventDefault(); select(tab, false); });
    tab.addEventListener("keydown", (event) => {
      const next = i + 1, last = i - 1;
      const to = { ArrowDown: next, ArrowRight: next, ArrowUp: last, ArrowLeft: last, " ": i, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      select(tabs[(to + tabs.length) % tabs.length], true);
    });
  });

  const theme = document.querySelector(".theme"), root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`); };
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  theme.hidden = false;
  name();

  for (const part of document.querySelectorAll(".more")) explore(part);
  for (const term of document.querySelectorAll(".term")) {
    tooltip(term, term.title);
    term.removeAttribute("title");
  }
  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    });
  }
  // In the frame of a notebook a fragment would lead to the notebook's own page.
  for (const link of document.querySelectorAll("nav.sections a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = document.querySelector(link.hash);
      target.scrollIntoView();
      target.tabIndex = -1;
      target.focus({ preventScroll: true });
    });
  }
  // On paper nothing can be unfolded.
  const how = document.querySelector(".how");
  addEventListener("beforeprint", () => { how.open = true; });
  for (const block of document.querySelectorAll("svg .block")) {
    tooltip(block, block.getAttribute("aria-label"));
    block.querySelector("title").remove();
  }
  for (const group of document.querySelectorAll("svg .boxes")) roving(group);
  for (const table of document.querySelectorAll("table[data-sortable]")) sortable(table);
  if (tabs.length) select(tabs.find((tab) => tab.getAttribute("aria-selected") === "true"), false);
})();
