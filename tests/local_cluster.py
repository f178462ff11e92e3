"""A Spark standalone cluster of processes on this machine: a master, workers, and a server for Spark Connect."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["SparkCluster", "why_not"]


def why_not() -> str | None:
    """Why there can be no cluster here, or None."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "Spark needs Java, which is not here"
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is not installed"
    return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class SparkCluster:
    """A master and `n` workers of `cores` cores each; leaves nothing behind when it is closed."""

    def __init__(self, folder: Path, n: int = 2, cores: int = 2) -> None:
        import pyspark

        self.home = Path(pyspark.__file__).parent
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        try:
            self._class("org.apache.spark.deploy.master.Master", "--port", str(self.port))
            self._wait(self.port, "the master")
            worker = "org.apache.spark.deploy.worker.Worker"
            self.workers = [
                self._class(worker, "--cores", str(cores), "--memory", "1g", self.url)
                for _ in range(n)
            ]
        except BaseException:
            self.close()
            raise

    def _class(self, name: str, *words: str) -> "subprocess.Popen[bytes]":
        place = ["--host", "127.0.0.1", "--webui-port", str(free_port())]
        if name.endswith("Worker"):
            place += ["--work-dir", str(self.folder / f"work-{len(self.processes)}")]
        return self._start([str(self.home / "bin" / "spark-class"), name, *place, *words])

    def _start(self, command: list[str]) -> "subprocess.Popen[bytes]":
        settings = {
            "SPARK_HOME": str(self.home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        settings["SPARK_LOCAL_DIRS"] = str(self.folder / "local")
        log = (self.folder / f"process-{len(self.processes)}.log").open("wb")
        # A group of its own, so that executors end with their worker.
        started = subprocess.Popen(
            command, stdout=log, stderr=log, env=os.environ | settings, start_new_session=True
        )
        log.close()
        self.processes.append(started)
        return started

    def session(self, cores: int = 2) -> Any:
        """A classic session on the cluster."""
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(self.url).appName("trueness")
        for name, value in self.settings(cores).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        return session

    def settings(self, cores: int) -> dict[str, str]:
        return {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.cores.max": str(cores),
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
        }

    def connect(self, cores: int = 2) -> Any:
        """A Spark Connect session with a server on the cluster."""
        from pyspark.sql.connect.session import SparkSession

        port = free_port()
        settings = self.settings(cores) | {"spark.connect.grpc.binding.port": str(port)}
        words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        submit = [
            str(self.home / "bin" / "spark-submit"),
            "--class",
            server,
            "--master",
            self.url,
            *words,
            "spark-internal",
        ]
        self._start(submit)
        self._wait(port, "Spark Connect")
        return SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()

    def executors(self, worker: int) -> list[int]:
        """The processes of executors that a worker has started."""
        group = os.getpgid(self.workers[worker].pid)
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.getpgid(int(entry.name)) == group:
                    words = (entry / "cmdline").read_bytes()
                    if b"CoarseGrainedExecutorBackend" in words:
                        found.append(int(entry.name))
            except (ProcessLookupError, FileNotFoundError, PermissionError):
                continue
        return found

    def _wait(self, port: int, what: str, seconds: float = 180) -> None:
        end = time.monotonic() + seconds
        while not answers(port):
            if self.processes[-1].poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{what} does not answer; the logs are in {self.folder}")
            time.sleep(0.1)

    def close(self) -> None:
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
