"""What is told of the passages near a feature: each thing with what it stands under, and nothing that only retells."""

from pathlib import Path

from _evidence_project import found, write

GO = """\
package shop

func basketKeep(row Row) bool {
	switch row.kind {
	case Drop:
		if row.fits(7) {
			return false
		}
	case Rest:
		each(func(one Row) {
			if !row.fits(7) {
				return row.give(7)
			}
		})
	default:
		if row.odd(7) {
			panic("no row")
		}
	}
	if row.weight != usual.weight ||
		row.colour != usual.colour || row.colour != usual.paint || row.colour != usual.light ||
		row.price != usual.price || row.price != usual.discount {
		return row.far(7)
	}
	return true
}
"""
SWIFT = """\
func basketRetry(row: Row) -> Bool {
    guard !row.isGone else { return row.shut(7) }
    guard let lid = row.lid,
          lid.count == 7
    else {
        return lid.lost(7)
    }
    return lid.open(7)
}
"""
SHARP = """\
class Basket {
  void BasketRead(string row) {
    if (row[0] == '}')
    {
      if (row[1] == '}')
      {
        Drop(row, 7);
      }
    }
    else
    {
      throw new Odd("no brace");
    }
    if (row[2] == '(') break;
    if (row[3] == 7) {
      Glue(row);
    }
  }
}
"""
RUST = """\
fn basket_version(row: &Row) -> Key {
    let key = if row.version <= Version::TWO {
        if row.odd(7) {
            return row.none(7);
        }
    } else {
        if row.even(7) {
            return row.some(7);
        }
    };
    key
}
"""
PYTHON = """\
def basket_load(row):
    try:
        row.load(7)
    except KeyError as missing:
        raise ValueError('no such row') from missing
    if row.count == 77: return row.many(7)
"""
RETELLING = {
    "shop/basket.py": """\
def basket_deal(row):
    if row.kind == Kind.FLAG:
        return FlagBasket()
    if row.kind == Kind.MOVE:
        return MoveBasket()
    if row.kind == Kind.MARK_READ:
        return MarkReadBasket(row)


def basket_count(rows, lines):
    if rows != lines:
        lines = rows.rest()
    if rows > lines:
        rows = lines


def basket_give(row):
    if not row.rules.enabled:
        return None
    return row


def basket_walk(row, ways):
    for way in ways:
        if row.index > way:
            row.index -= 77
    for way in ways:
        if row.index > way:
            row.index += 77
    if row.kind == 'gift':
        manager = Manager()
        if manager.refresh(row, 'all'):
            row.note('ready')
    self.log.debug(f'{row} walked')
""",
    "shop/basket.ts": f"""\
export function basketBind(row) {{
  const is =
    typeof row.start !== 'undefined'
      ? row.start()
      : 'none';
  while (row.end !== 'never') {{
    row.step();
  }}
  if (row.kind === 'near') {{
    row.unfold('all');
  }}
  if (row.kind === 'far') {{
    row.all = row.rows.filter((one) => {{
      return one.{"long" * 40};
    }});
  }}
}}
""",
    "shop/Basket.cs": """\
/// <summary>Makes baskets of straw unless told.</summary>
/// <param name="row">Never empty rows of <code>no</code> use.</param>
void BasketMake(string row) {
  if (row == "gift") {
    Fold(row);
  }
}
""",
    "shop/basket.kt": """\
/** Rows can be told not to fold. Note that in this case, glue must be there. */
fun basketFold(row: Row) {
  if (row.kind == 7L) 0L else row.press()
}
""",
}


def told(root: Path) -> str:
    return "\n".join(finding.text for finding in found(root, "inside", "basket"))


def test_inside_tells_what_is_done_under_cases_handlers_and_guards(tmp_path: Path) -> None:
    write(tmp_path, {"shop/basket.go": GO, "shop/basket.swift": SWIFT, "shop/Basket.cs": SHARP})
    write(tmp_path, {"shop/basket.py": PYTHON, "shop/basket.rs": RUST})
    said = told(tmp_path)
    assert "at `case Drop`, if `row.fits(7)`: `return false`" in said
    assert "at `case Rest`, if `!row.fits(7)`: `return row.give(7)`" in said  # handed to a call
    assert 'at `default`, if `row.odd(7)`: `panic("no row")`' in said
    assert "if `row.isGone`: `return row.shut(7)`" in said
    assert "unless `let lid = row.lid, lid.count == 7`: `return lid.lost(7)`" in said
    assert (
        "if `row[0] == '}'` and `row[1] == '}'`: `Drop(row, 7)`" in said
    )  # brackets in strings are none
    assert "unless `row[0] == '}'`: `throw new Odd(\"no brace\")`" in said
    assert "if `row[2] == '('`: `break`; if `row[3] == 7`: `Glue(row)`" in said
    assert "at `except KeyError as missing`: `raise ValueError('no such row') from missing`" in said
    assert "if `row.count == 77`: `return row.many(7)`" in said
    assert "if `row.version <= Version::TWO` and `row.odd(7)`: `return row.none(7)`" in said
    assert "unless `row.version <= Version::TWO`, if `row.even(7)`: `return row.some(7)`" in said
    for fragment in ("||`", "row.far", "else {", "{ "):
        assert fragment not in said


def test_inside_leaves_out_what_only_retells_code(tmp_path: Path) -> None:
    write(tmp_path, RETELLING)
    said = told(tmp_path)
    assert "if `row.kind == 'gift'` and `manager.refresh(row, 'all')`: `row.note('ready')`" in said
    assert "if `row.kind === 'near'`: `row.unfold('all')`" in said
    assert "`Rows can be told not to fold. Note that in this case, glue must be there`" in said
    assert "`Makes baskets of straw unless told`" in said
    for retold in (
        "basket_deal",
        "basket_count",
        "basket_give",
        "index",
        "Manager()",
        "walked",
        "typeof",
        "while",
    ):
        assert retold not in said
    for piece in ("row.all", "filter", "Never empty", "0L else"):
        assert piece not in said
