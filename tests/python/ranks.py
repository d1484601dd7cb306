"""Processes for a test to talk to, one for each rank of a group. They are started once and asked often."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable, List

import torch
import torch.distributed as dist


def _work(rank: int, size: int, backend: str, store: str, connection: Any) -> None:
    torch.set_num_threads(1)
    os.environ["NCCL_HOSTID"] = str(rank)  # or two may not share a GPU
    dist.init_process_group(
        backend, init_method=f"file://{store}", rank=rank, world_size=size, timeout=timedelta(seconds=30)
    )
    while True:
        try:
            function, arguments = pickle.loads(connection.recv_bytes())
        except EOFError:
            return
        try:
            answer = True, function(rank, *arguments)
        except BaseException as error:
            answer = False, f"{type(error).__name__}: {error}"
        connection.send_bytes(pickle.dumps(answer))


class Ranks:
    """`ranks(function, *arguments)` calls function(rank, *arguments) on every rank and returns what they return."""

    def __init__(self, folder: Path, size: int = 2, backend: str = "gloo") -> None:
        spawn = multiprocessing.get_context("spawn")
        self._connections = []
        self._processes = []
        for rank in range(size):
            mine, theirs = spawn.Pipe()
            process = spawn.Process(target=_work, args=(rank, size, backend, str(folder / "store"), theirs), daemon=True)
            process.start()
            theirs.close()
            self._connections.append(mine)
            self._processes.append(process)

    def ask(self, function: Callable[..., Any], *arguments: Any) -> List[Any]:
        """Of each rank, whether the function came to its end, and what it returned or raised."""
        for connection in self._connections:
            connection.send_bytes(pickle.dumps((function, arguments)))
        answers: List[Any] = []
        for rank, connection in enumerate(self._connections):
            assert connection.poll(100), f"rank {rank} hangs"
            try:
                answers.append(pickle.loads(connection.recv_bytes()))
            except EOFError:
                answers.append((False, "it has ended"))
        return answers

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> List[Any]:
        answers = self.ask(function, *arguments)
        assert all(came_to_its_end for came_to_its_end, _ in answers), answers
        return [returned for _, returned in answers]

    def end(self) -> None:
        for connection in self._connections:
            connection.close()
        for process in self._processes:
            process.join(5)
            process.kill()
