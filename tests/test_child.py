"""A stranger's file is opened in a process of its own: bounds, no standard input, plain answers."""

import ast
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Here
from command_line import command as command_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnlens.audits.loading import check_model, model_bounds
from attnlens.child import Bounds, answers_of_child, in_child
from attnlens.cricket.readers import read_matches
from attnlens.cricket.readers.uploaded import of_plain, read_uploaded, to_plain
from attnlens.errors import AttnlensError, InputError

BOUNDS = Bounds(memory=256 << 20, cpu_seconds=60, silent_seconds=120, remedy="bring less")
LIMITED = pytest.mark.skipif(sys.platform != "linux", reason="setrlimit bounds memory on Linux")
ROOT = Path(__file__).resolve().parent.parent


def ask(name: str, bounds: Bounds = BOUNDS, **question: Any) -> Any:
    return in_child(f"child_cases:{name}", question, bounds, path="a.bin")


def test_an_answer_is_plain_and_nobody_can_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a module of the folder was run')")
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    question = {"value": {"a": [1.5, None, "\ud83d\n"]}}
    answer = in_child("child_cases:answered", question, BOUNDS, path="a", report=said.append)
    assert (answer["value"], answer["stdin"]) == (question["value"], "")
    assert answer["path"] not in ("", str(tmp_path))
    assert said == ["begun"]
    several = answers_of_child("child_cases:several", {"count": 3}, BOUNDS, path="a")
    assert list(several) == [0, 1, 2]
    with pytest.raises(InputError, match="EOFError"):
        ask("asked")


@pytest.mark.parametrize(
    ("name", "changes", "question", "words"),
    [
        pytest.param("grown", {}, {"size": 1 << 30}, "0.3 GB of memory", marks=LIMITED),
        pytest.param("busy", {"cpu_seconds": 1}, {}, "1 seconds of processor", marks=LIMITED),
        ("silent", {"silent_seconds": 3}, {}, "3 seconds"),
        ("talkative", {"answer": 1 << 20}, {}, "1 MB as plain data"),
    ],
)
def test_beyond_its_bounds_it_is_one_line(
    name: str, changes: Any, question: Any, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        ask(name, replace(BOUNDS, **changes), **question)
    text = str(caught.value)
    assert text.startswith(f"a.bin: opening it takes more than {words}")
    assert text.endswith("; bring less")


@LIMITED
def test_memory_of_torch_is_bounded_too() -> None:
    with pytest.raises(InputError, match=r"takes more than 1\.1 GB of memory"):
        ask("grown_in_torch", replace(BOUNDS, memory=1 << 30), size=1 << 31)


def test_it_writes_no_file_unless_it_may(tmp_path: Path) -> None:
    path = tmp_path / "out"
    if sys.platform == "linux":
        with pytest.raises(InputError, match="OSError"):
            ask("written", path=str(path))
        assert path.read_text() == ""
    ask("written", replace(BOUNDS, writes=True), path=str(path))
    assert path.read_text() == "x"


def test_errors_come_over_as_they_were() -> None:
    with pytest.raises(InputError) as caught:
        ask("raised", kind="input")
    error = caught.value
    parts = (error.problem, error.path, error.line, error.remedy)
    assert parts == ("is bad", "a.txt", 7, "mend it")
    with pytest.raises(AttnlensError, match=r"^cannot be recorded$"):
        ask("raised", kind="record")
    with pytest.raises(
        InputError, match=r"^a\.bin: cannot be opened \(ZeroDivisionError: by nought"
    ):
        ask("raised", kind="fault")
    with pytest.raises(InputError, match=r"ended with signal 6, .*; bring less"):
        ask("crashed")


@LIMITED
@pytest.mark.parametrize("function", ["silent", "holding_the_lock"])
def test_it_ends_with_its_parent(function: str) -> None:
    code = (
        "from attnlens.child import Bounds, in_child\n"
        "bounds = Bounds(1 << 28, 600, 600, 'x')\n"
        f"in_child('child_cases:{function}', {{}}, bounds, path='a', report=print)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-u", "-c", code]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "begun\n"
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        (child,) = children.read_text().split()
        parent.send_signal(signal.SIGKILL)
    while Path(f"/proc/{child}").exists():
        time.sleep(0.05)  # only a child that stays would hang here, and fail by the time-out


def test_every_call_of_transformers_forbids_code_of_the_model() -> None:
    calls = [
        call
        for path in (ROOT / "attnlens").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "from_pretrained"
    ]
    assert len(calls) >= 5
    for call in calls:
        spread = {ast.unparse(word.value) for word in call.keywords if word.arg is None}
        assert spread & {"_SAFELY", "options"}, ast.unparse(call)
    from attnlens.audits.loading import _SAFELY

    assert _SAFELY == {"local_files_only": True, "trust_remote_code": False}


@pytest.mark.parametrize(
    "name",
    ["config.json", "tokenizer_config.json", "generation_config.json", "config.4.0.0.json"],
)
@pytest.mark.parametrize(
    "wish",
    [
        '"auto_map": {"AutoModel": "evil.Evil"}',
        '"\\u0061uto_map": {"AutoModel": "evil.Evil"}',
        '"attn_implementation": "evil/kernel"',
        '"_attn_implementation_internal": {"text": "eager", "vision": "evil\\/kernel@v1"}',
        '"text_config": [{"attn_implementation": {"}": {}, "": "evil/kernel"}}]',
        '"attribute_map": {"x": "_attn_implementation_internal"}, "x": "evil/kernel"',
    ],
)
def test_a_folder_that_brings_code_is_refused(tmp_path: Path, name: str, wish: str) -> None:
    for file in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / file).write_text("{}")
    check_model(str(tmp_path))
    (tmp_path / name).write_text(f'{{"architectures": ["A"], {wish}}}')
    with pytest.raises(InputError, match=f"{name}: requires its own code to be run"):
        check_model(str(tmp_path))


def test_code_of_a_folder_never_runs(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"auto_map": {"AutoModel": "evil.Evil"}}')
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    for file in ("model.safetensors", "tokenizer.json"):
        (folder / file).write_bytes(b"{}")
    for command in (["audit"], ["record", "--out", "r.safetensors"]):
        words = command_of(*command, "model", "--text", "a b")
        done = subprocess.run(words, cwd=tmp_path, input=b"y\ny\ny\n", capture_output=True)
        err = done.stderr.decode()
        assert (done.returncode, done.stdout, err.count("\n")) == (2, b"", 1)
        assert f"{os.path.join('model', 'config.json')}: requires its own code to be run" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


@pytest.mark.parametrize("part", ["../out", "a/b", "none.safetensors"])
def test_an_index_names_files_of_its_folder_only(tmp_path: Path, part: str) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    check_model(str(tmp_path))
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": "model.safetensors"}}))
    check_model(str(tmp_path))
    index.write_text(json.dumps({"weight_map": {"w": part}}))
    with pytest.raises(InputError, match=f"names the weight file {part!r}, which is not in the"):
        check_model(str(tmp_path))


def test_a_sparse_file_and_a_pipe_raise_no_bound(tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    before = model_bounds(str(tmp_path)).memory
    with open(tmp_path / "pad.dat", "wb") as file:
        file.truncate(1 << 40)
    assert model_bounds(str(tmp_path)).memory < 2 * before
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "weights.bin")
        with pytest.raises(InputError, match=r"weights\.bin: is a device or a pipe"):
            check_model(str(tmp_path))


def test_a_match_comes_over_whole(sample_match_path: Path, tmp_path: Path) -> None:
    matches = list(read_matches(ROOT / "sample_data", on_error="skip"))
    assert len(matches) == 1
    for match in matches:
        again = of_plain(json.loads(json.dumps(to_plain(match))))
        assert again == match
        assert (again.content, again.statements) == (match.content, match.statements)
        assert [again.doubts, again.players, again.innings] == [
            match.doubts, match.players, match.innings,
        ]  # fmt: skip
    assert read_uploaded(str(sample_match_path)) in matches
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError) as caught:
        read_uploaded(str(path))
    assert caught.value.path == str(path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.dates(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple)
    | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip


@given(VALUES)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_stated_value_comes_over(value: Any) -> None:
    again = of_plain(json.loads(json.dumps(to_plain(value))))
    assert repr(again) == repr(value)


def test_a_recording_that_claims_more_than_it_holds_is_refused(attnlens_here: Here) -> None:
    from recording_cases import bombs

    for name, words in bombs(attnlens_here.folder).items():
        answer = attnlens_here("view", name, "--out", "page.html")
        assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1), name
        assert words in answer.err
    assert "page.html" not in attnlens_here.files()


def test_a_folder_with_a_colon_in_its_name_is_not_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "json.py").write_text("raise SystemExit('half of a name was a folder')")
    monkeypatch.syspath_prepend(folder)
    assert ask("answered", value=1)["path"] == str(folder)
