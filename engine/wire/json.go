package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/event"
)

// MarshalEvent returns an event as a line of JSON.
func MarshalEvent(e event.Event) ([]byte, error) {
	if e.Plan != nil { // only a plan has lists that may be nil
		e = withLists(e)
	}
	var line bytes.Buffer
	err := json.NewEncoder(&line).Encode(e) // with a line end
	return escapeControls(line.Bytes()), err
}

// WriteJSON writes v as indented JSON, for --json. A list is never null.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(escapingWriter{w})
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(withLists(v))
}

// escapingWriter escapes controls. Each Write has whole characters: an Encoder writes a value at once.
type escapingWriter struct{ w io.Writer }

func (e escapingWriter) Write(text []byte) (int, error) {
	if _, err := e.w.Write(escapeControls(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// WriteJSONLine writes v as one line of JSON.
func WriteJSONLine(w io.Writer, v any) error {
	line, err := json.Marshal(withLists(v))
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeControls(line), '\n'))
	return err
}

// escapeControls escapes characters that JSON allows in texts and that affect a
// terminal: C1 controls, and bidirectional or invisible characters. For
// programs the text stays the same.
func escapeControls(text []byte) []byte {
	isWild := func(r rune) bool { return r >= 0x7f && r != utf8.RuneError && !unicode.IsGraphic(r) }
	if !containsWild(text, isWild) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !isWild(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default: // a surrogate pair
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.Bytes()
}

// containsWild reports whether a rune beyond ASCII is wild. Nearly all bytes of a
// long text are ASCII.
func containsWild(text []byte, isWild func(rune) bool) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < 0x7f {
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if isWild(r) {
			return true
		}
		i += size - 1
	}
	return false
}
