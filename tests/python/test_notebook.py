"""The notebook runs from top to bottom, and its pictures are XML."""

import ast
import json
import xml.dom.minidom
from pathlib import Path

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "python" / "where_is_my_loss_not_smooth.ipynb"


def test_the_notebook_tells_a_smooth_loss_from_a_rounded_one():
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    namespace, pictures = {}, 0
    for cell in cells:
        program = ast.parse("".join(cell["source"]))
        last = program.body.pop() if isinstance(program.body[-1], ast.Expr) else None
        exec(compile(program, NOTEBOOK.name, "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), namespace)
            if value is not None:
                xml.dom.minidom.parseString(value._repr_svg_())
                pictures += 1
    assert pictures == 2
    found = {name: probe.signature.smoothness for name, probe in namespace["found"].items()}
    assert found["smooth"] == "smooth" and found["rounded"] in ("kinks", "jumps")
    ends = {name: path[-1] for name, path in namespace["paths"].items()}
    assert all(abs(x - 1) < 0.2 and abs(y - 1) < 0.2 for x, y in ends.values())
