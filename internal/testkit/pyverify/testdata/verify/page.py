"""The page of a bundle, index.html."""
import unicodedata

SHOWN, TEXT = 2000, 16 << 10
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Evidence of tenant %(tenant)s</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
th[scope=row] { white-space: nowrap; width: 1%%; }
code, pre { font: 13px/1.4 ui-monospace, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
summary { cursor: pointer; }
.apart { font-weight: bold; }
</style>
</head>
<body>
<h1>Evidence of tenant %(tenant)s</h1>
<table>
%(run)s
%(from)s
%(to)s
<tr><th scope="row">Records</th><td>%(leaves)d of the %(size)d that the ledger had</td></tr>
<tr><th scope="row">Signed</th><td>%(time)s</td></tr>
<tr><th scope="row">Root</th><td><code>%(root)s</code></td></tr>
<tr><th scope="row">Key</th><td><code>%(key)s</code></td></tr>
</table>
<h2>This page proves nothing</h2>
<p>It is for reading. What proves the records are the other files of the bundle; check them with the key that
you have from the auditor, not with the one in the bundle:</p>
<pre>auditor verify BUNDLE.zip --key ledger.pub</pre>
<h2>Records</h2>
%(shown)s
<table>
<thead><tr><th>Leaf</th><th>Time</th><th>Kind</th><th>Producer</th><th>Record</th></tr></thead>
<tbody>
"""
FOOT = "</tbody>\n</table>\n</body>\n</html>\n"
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;", "+": "&#43;"}
NAMED = dict(zip("\a\b\f\r\v", "abfrv"))


def html(text):
    return "".join(ESCAPES.get(c, c) for c in text)


def printable(data):
    """The text of bytes for a reader: HTML, with characters that could deceive as escapes."""
    out = []
    for c in data.decode("utf-8", "surrogateescape"):
        n = 0xFFFD if "\ud800" <= c <= "\udfff" else ord(c)
        if c in "\n\t" or n != 0xFFFD and (unicodedata.category(c)[0] in "LMNPS" or unicodedata.category(c) == "Zs"):
            out.append(c)
        elif c in NAMED:
            out.append("\\" + NAMED[c])
        else:
            out.append("\\x%02x" % n if n < 0x80 else "\\u%04x" % n if n < 0x10000 else "\\U%08x" % n)
    return html("".join(out))


def seconds(time):
    """A time with nine digits, with at most seconds."""
    return time[:19] + "Z"


def row(r, data):
    cut = data is not None and len(data) > TEXT
    if cut:
        data = data[:TEXT]
        while data and data[-1] & 0xC0 == 0x80:
            data = data[:-1]
        data = data[:-1]
    text = printable(data or b"")
    if r.removed:
        text = "%s by the order at leaf %d" % r.removed
    time, cls, finding = r.time.decode(), html(r.cls.decode()), html(r.finding.decode("utf-8", "replace"))
    if time:
        time = time[:-1].rstrip("0").rstrip(".") + "Z"
    return "<tr><td>%d</td><td>%s</td><td>%s%s</td><td>%s #%d</td><td><details><summary>%s</summary><p>%sSHA-256 <code>%s</code></p><pre>%s%s</pre></details></td></tr>\n" % (
        r.index, time, '<span class="apart">%s: %s</span> ' % (cls, finding) if finding else "", printable(r.kind) or cls, printable(r.producer), r.sequence,
        printable(r.id) or cls, "run %s<br>" % printable(r.run) if r.run else "", r.hash.hex(), text, "\n… the rest is in records.jsonl" if cut else "")


def page(about, times, key, root, signed, rows):
    """times are those of from, to and the checkpoint with nine digits. rows are leaves with their records."""
    def line(name, value):
        return '<tr><th scope="row">%s</th><td>%s</td></tr>' % (name, value) if value else ""
    shown = min(about["leaves"], SHOWN)
    more = "<p>The first %d of %d; all of them are in <code>records.jsonl</code>.</p>" % (shown, about["leaves"]) if shown < about["leaves"] else ""
    start, end = (seconds(t) if t else "" for t in times)
    head = HEAD % {"tenant": printable(about["tenant"].encode()), "run": line("Run", printable(about.get("run", "").encode())), "from": line("From", start),
                   "to": line("Before", end), "leaves": about["leaves"], "size": about["size"], "time": seconds(signed), "root": html(root), "key": html(key), "shown": more}
    return (head + "".join(row(r, data) for r, data in rows[:SHOWN]) + FOOT).encode()
