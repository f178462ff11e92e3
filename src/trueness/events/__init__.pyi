from trueness._tally.events import Events as Events
from trueness.events._counts import counts as counts
from trueness.events._horizon import at_horizon as at_horizon
from trueness.events._horizon import at_horizons as at_horizons
from trueness.events._interval import interval as interval
from trueness.events._pairs import pairs as pairs
from trueness.events._quantiles import quantiles as quantiles
