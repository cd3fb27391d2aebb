"""Small documents of each format, made here, so that a test can say what is in them."""

import io
import zipfile
from collections.abc import Mapping, Sequence


def pdf(
    pages: Sequence[Sequence[str]], info: str = "", catalog: str = "", drawn: str = ""
) -> bytes:
    """A PDF with a line of Helvetica for each line; `info` and `catalog` are raw dictionary text.

    `drawn` is in the content of each page."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = [
            line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines
        ]
        text = (
            "BT /F1 11 Tf 14 TL 60 780 Td "
            + " ".join(f"({line}) Tj T*" for line in shown)
            + f" ET {drawn}"
        )
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(text)} >>\nstream\n{text}\nendstream")
    objects.append(f"<< {info} >>")
    out, places = io.BytesIO(b"%PDF-1.4\n"), []
    out.seek(0, 2)
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1"))
    start = out.tell()
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    out.write(f"xref\n0 {size}\n0000000000 65535 f \n{rows}".encode())
    out.write(
        f"trailer << /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    )
    return out.getvalue()


def words(places: Mapping[tuple[int, int], str]) -> str:
    """PDF operators that write words at these places."""
    return " ".join(f"BT /F1 11 Tf {x} {y} Td ({text}) Tj ET" for (x, y), text in places.items())


def rules(*lines: tuple[int, int, int, int]) -> str:
    """PDF operators that draw lines."""
    return " ".join(f"{x} {y} m {to_x} {to_y} l S" for x, y, to_x, to_y in lines)


def archive(members: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in members.items():
            file.writestr(name, text)
    return out.getvalue()


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
CORE = (
    '<x xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
    "<dc:title>Rules of the till</dc:title><dc:creator>Ada Byron</dc:creator>"
    "<dc:creator>Bo Li</dc:creator><dcterms:created>2024-03-05T10:00:00Z</dcterms:created></x>"
)


def docx(body: str) -> bytes:
    return archive(
        {
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            "docProps/core.xml": CORE,
        }
    )


def paragraph(text: str, style: str = "") -> str:
    about = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{about}<w:r><w:t>{text}</w:t></w:r></w:p>"


def pptx(slides: Sequence[Sequence[str]]) -> bytes:
    members = {"docProps/core.xml": CORE}
    for number, lines in enumerate(slides, 1):
        text = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
        members[f"ppt/slides/slide{number}.xml"] = f"<p {A}>{text}</p>"
    return archive(members)


def epub(
    chapters: Mapping[str, str], spine: Sequence[str] = (), more: Mapping[str, str] | None = None
) -> bytes:
    """A book whose spine is `spine` (`name#fragment`), else each chapter; `more` are other members."""
    listed = spine or list(chapters)
    hrefs = [name.replace("#", ".xhtml#") if "#" in name else f"{name}.xhtml" for name in listed]
    items = "".join(f'<item id="i{at}" href="{href}"/>' for at, href in enumerate(hrefs))
    order = "".join(f'<itemref idref="i{at}"/>' for at in range(len(hrefs)))
    package = f"<package>{CORE}<manifest>{items}</manifest><spine>{order}</spine></package>"
    members = {
        "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
        "OPS/book.opf": package,
    }
    members |= {f"OPS/{name}.xhtml": text for name, text in chapters.items()}
    return archive({**members, **(more or {})})
