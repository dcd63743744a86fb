#!/usr/bin/env python3
"""A real text trace and a word table, for judging orders of rows (bench/order.sh).

    bench/text_trace.py OUTPUT_DIRECTORY [--no-table]

Takes the English text of pinned Debian packages (manual pages, HTML, POD, WordNet's glosses): one line
of text is one line of the trace, its lower-case words with single spaces between. Documents follow
each other in an order drawn from their names, as unrelated readers would open them; lines keep their
order inside a document. Writes

    trace.txt       all lines
    first.txt       the first half of the lines: what is known when a table is imported
    second.txt      the later half: what is held out
    words.vec       a word table that Debian's fasttext (skip-gram, 100 values) learns from first.txt

Needs the network (apt-get download), dpkg-deb and, but for --no-table, fasttext. The table is trained
by one thread, so that the same text gives the same table.
"""
import gzip
import hashlib
import html
import pathlib
import re
import subprocess
import sys
import tempfile

# As in Debian 12 on the day of the figures in docs/benchmarks.md. Another version is used with a
# message: the text then differs a little, and so may the figures.
PACKAGES = {
    "manpages": "6.03-2",
    "manpages-dev": "6.03-2",
    "wordnet-base": "1:3.0-37",
    "git-doc": "1:2.39.5-0+deb12u3",
    "perl-doc": "5.36.0-7+deb12u4",
    "debian-reference-en": "2.100",
    "python3.11-doc": "3.11.2-6+deb12u9",
    "postgresql-doc-15": "15.20-0+deb12u1",
    "debian-policy": "4.6.2.0",
    "debian-handbook": "11.20220922",
    "developers-reference": "12.18",
    "sqlite3-doc": "3.40.1-2+deb12u2",
}
WORD = re.compile(r"[a-z_]+")


def download(directory):
    for name, pinned in PACKAGES.items():
        policy = subprocess.run(["apt-cache", "policy", name], capture_output=True, text=True).stdout
        found = re.search(r"Candidate: (\S+)", policy)
        version = found.group(1) if found else "(none)"
        if version != pinned:
            print(f"text_trace: {name} is {version} here, {pinned} in the published figures",
                  file=sys.stderr)
        if version == "(none)":
            continue
        subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", "-q", name], cwd=directory, check=True,
                       stdout=subprocess.DEVNULL)
    for deb in sorted(directory.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", deb, directory / "files"], check=True)
        deb.unlink()


def text_of(path):
    """The text of a document, or None for what is none."""
    name = path.name.removesuffix(".gz")
    raw = path.read_bytes()
    if path.name.endswith(".gz"):
        raw = gzip.decompress(raw)
    text = raw.decode("utf-8", "replace")
    if "/man/man" in str(path):  # roff: requests, fonts and escapes go
        text = re.sub(r'(?m)^[.\'][A-Za-z\\"]*', " ", text)
        return re.sub(r"\\f.|\\\(..|\\[^a-z]", " ", text)
    if name.endswith((".html", ".htm")):
        text = re.sub(r"(?is)<(script|style|head)\b.*?</\1>", " ", text)
        text = re.sub(r"(?i)<(br|p|li|tr|dt|dd|h\d|div)\b[^>]*>", "\n", text)
        return html.unescape(re.sub(r"(?s)<[^>]*>", " ", text))
    if name.startswith("data.") and "wordnet" in str(path):  # the gloss stands behind the bar
        return "\n".join(line.split("|", 1)[1] for line in text.splitlines() if "|" in line)
    if name.endswith((".pod", ".txt", ".rst", ".adoc")):
        return text
    return None


def write_trace(files, output):
    documents = [p for p in files.rglob("*") if p.is_file() and not p.is_symlink()]
    documents.sort(key=lambda p: hashlib.md5(str(p.relative_to(files)).encode()).digest())
    lines, tokens, seen = [], 0, set()
    for path in documents:
        text = text_of(path)
        if text is None:
            continue
        digest = hashlib.md5(text.encode()).digest()
        if digest in seen:  # the same page under two names
            continue
        seen.add(digest)
        for line in text.splitlines():
            words = WORD.findall(line.lower())
            if words:
                lines.append(" ".join(words))
                tokens += len(words)
    half = len(lines) // 2
    for name, part in (("trace", lines), ("first", lines[:half]), ("second", lines[half:])):
        (output / f"{name}.txt").write_text("\n".join(part) + "\n")
    print(f"text_trace: {len(seen)} documents, {len(lines)} lines, {tokens} words")


def main():
    arguments = [a for a in sys.argv[1:] if a != "--no-table"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    output = pathlib.Path(arguments[0])
    output.mkdir(parents=True, exist_ok=True)
    if not (output / "second.txt").exists():
        with tempfile.TemporaryDirectory() as work:
            download(pathlib.Path(work))
            write_trace(pathlib.Path(work) / "files", output)
    if "--no-table" in sys.argv or (output / "words.vec").exists():
        return
    subprocess.run(["fasttext", "skipgram", "-input", output / "first.txt", "-output",
                    output / "training", "-dim", "100", "-minCount", "3", "-epoch", "2",
                    "-minn", "0", "-maxn", "0", "-lr", "0.1", "-thread", "1", "-verbose", "0"],
                   check=True)
    (output / "training.bin").unlink()
    (output / "training.vec").rename(output / "words.vec")


if __name__ == "__main__":
    main()
