package inventory

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// piecesFrom is the size, in bytes, of all files of an inventory from which its host blocks are parsed piece by piece.
// Parsed text takes about 40 times its size.
const piecesFrom = 64 << 10

// A piece with at most maxPiece bytes and maxOpeners brackets and strings needs no check of its nesting: it has neither
// so many levels nor so many operators that the parser must not see it.
const (
	maxPiece   = 1000
	maxOpeners = 90
)

// piece is a part of a file.
type piece struct {
	kind   string // "host" or "hosts": it has only such blocks, a few small ones; "": any text
	blocks int    // with a kind: how many
	text   []byte
	file   string
	at     hcl.Pos
}

// splitHosts splits a file into pieces, with its host blocks in pieces of their own. It looks only at the beginnings of
// lines, so it may split a file in the middle of a comment, a text or a block. Then a piece has a syntax error. If no
// piece has one, the pieces together have the meaning of the file.
func splitHosts(src []byte, file string) []piece {
	if bytes.LastIndex(src, []byte("\ufeff")) > 0 { // the parser accepts this mark at the beginning of any text
		return []piece{{text: src, file: file, at: hcl.InitialPos}}
	}
	var all []piece
	at, openers := hcl.InitialPos, 0
	for at.Byte < len(src) {
		kind, size := nextPiece(src[at.Byte:])
		text := src[at.Byte : at.Byte+size]
		opened := countOpeners(text)
		if size > maxPiece || opened > maxOpeners {
			kind = ""
		}
		if last := len(all) - 1; last >= 0 && joinsPiece(all[last], kind, text) && (all[last].kind == "" || len(all[last].text)+size <= maxPiece && openers+opened <= maxOpeners) {
			begin := all[last].at.Byte
			all[last].text = src[begin : at.Byte+size]
			openers += opened
		} else {
			all = append(all, piece{kind: kind, text: text, file: file, at: at})
			openers = opened
		}
		if kind != "" {
			all[len(all)-1].blocks++
		}
		at.Byte += size
		at.Line += bytes.Count(text, []byte("\n"))
	}
	return all
}

// joinsPiece reports whether a text may become a part of the piece before it.
func joinsPiece(before piece, kind string, text []byte) bool {
	return before.kind == kind || kind == "" && hasOnlyComments(text)
}

// nextPiece returns the size of the host block at the beginning of a text, with its kind, or else of the text before
// the next one.
func nextPiece(src []byte) (kind string, size int) {
	if kind := hostKind(src); kind != "" {
		const end = "\n}\n"
		if i := bytes.Index(src, []byte(end)); i >= 0 {
			return kind, i + len(end)
		}
		return "", len(src)
	}
	for i := 0; ; i++ {
		next := bytes.Index(src[i:], []byte("\nhost"))
		if next < 0 {
			return "", len(src)
		}
		if i += next; hostKind(src[i+1:]) != "" {
			return "", i + 1
		}
	}
}

func hostKind(src []byte) string {
	for _, kind := range []string{"host", "hosts"} {
		if bytes.HasPrefix(src, []byte(kind+" \"")) {
			return kind
		}
	}
	return ""
}

func hasOnlyComments(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.HasPrefix(line, []byte("//")) {
			return false
		}
	}
	return true
}

// countOpeners returns at least the number of brackets, strings and directives that a text opens.
func countOpeners(text []byte) int {
	n, quotes := 0, 0
	for _, c := range text {
		switch c {
		case '{', '(', '[', '<', '%':
			n++
		case '"':
			quotes++
		}
	}
	return n + (quotes+1)/2
}

// parsePieces parses a file except for its host blocks, which parseHosts parses later.
func (l *loader) parsePieces(src []byte, shown string) {
	l.files[shown] = &hcl.File{Bytes: src}
	for _, p := range splitHosts(src, shown) {
		if p.kind != "" {
			l.parts = append(l.parts, part{hosts: &p})
		} else if !l.checkNesting(p.text, shown, p.at) {
			return
		} else if body := l.parsePiece(p); body != nil {
			l.parts = append(l.parts, part{body: body})
		}
	}
}

// parsePiece adds an error, for nobody to read, and returns nil if a piece cannot be parsed.
func (l *loader) parsePiece(p piece) *hclsyntax.Body {
	file, diags := hclsyntax.ParseConfig(p.text, p.file, p.at)
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok || len(diags) > 0 {
		l.addGlobalError("a piece of "+p.file+" is wrong", "")
		return nil
	}
	l.countCosts(body, p.text)
	return body
}

// readHosts reads all host blocks, and then all hosts blocks. It keeps no block that comes from a piece.
func readHosts(b *builder) {
	hosts := b.root.childBlocks("host")
	b.inv.Hosts = slices.Grow(b.inv.Hosts, countBlocks(hosts))
	for _, part := range hosts {
		for _, n := range parseHosts(b, part) {
			b.readHost(n, n.label, "")
		}
	}
	ranges := b.root.childBlocks("hosts")
	before := len(b.inv.Hosts)
	for i, part := range ranges {
		for _, n := range parseHosts(b, part) {
			b.readHostRange(n)
		}
		// If the other parts are as large as those before, they have room: append would copy the list more often.
		mean := (len(b.inv.Hosts) - before) / (i + 1)
		if others := len(ranges) - i - 1; others > 0 && cap(b.inv.Hosts)-len(b.inv.Hosts) < mean {
			b.inv.Hosts = slices.Grow(b.inv.Hosts, min(mean*others, len(b.inv.Hosts)))
		}
	}
}

// parseHosts returns a block, or those in a piece of a file.
func parseHosts(b *builder, n *node) []*node {
	if n.hosts == nil {
		return []*node{n}
	}
	parsed := &node{kind: b.root.kind}
	if body := b.parsePiece(*n.hosts); body != nil {
		b.decodeBody(parsed, body)
	}
	return parsed.blocks
}

func countBlocks(nodes []*node) int {
	n := 0
	for _, one := range nodes {
		if n++; one.hosts != nil {
			n += one.hosts.blocks - 1
		}
	}
	return n
}
