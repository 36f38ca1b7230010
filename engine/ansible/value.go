package ansible

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	literalComment = regexp.MustCompile(`\s*#.*$`)
	decimalNumber  = regexp.MustCompile(`^[+-]?(0+|[1-9][0-9]*(_[0-9]+)*)$`)
	otherNumber    = regexp.MustCompile(`^[+-]?(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)$`)
	fraction       = regexp.MustCompile(`^[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]+)$`)
	quotedText     = regexp.MustCompile(`^('[^'\\]*'|"[^"\\]*")$`)
	escapedText    = regexp.MustCompile(`^('([^'\\]|\\.)*'|"([^"\\]|\\.)*")$`)
)

// parseLiteral reads a value of an INI file as Ansible does: as a literal of
// Python if it is one, else as text.
func parseLiteral(text string, at Position) Value {
	if v, ok := readLiteral(text, at); ok {
		return v
	}
	if without := literalComment.ReplaceAllString(text, ""); without != text && without != "" {
		if v, ok := readLiteral(without, at); ok && v.Kind != Template {
			return v
		}
	}
	return Value{At: at, Kind: Text, Text: text}
}

func readLiteral(text string, at Position) (Value, bool) {
	switch {
	case isTemplate(text):
		return Value{At: at, Kind: Template, Text: text}, true
	case text == "True" || text == "False":
		return Value{At: at, Kind: Boolean, Text: strings.ToLower(text)}, true
	case text == "None":
		return Value{At: at, Kind: Null}, true
	case decimalNumber.MatchString(text) || otherNumber.MatchString(text):
		sign, digits := "", strings.TrimPrefix(text, "+")
		if rest, ok := strings.CutPrefix(digits, "-"); ok {
			sign, digits = "-", rest
		}
		if trimmed := strings.TrimLeft(digits, "0"); trimmed == "" {
			digits = "0"
		}
		n, err := strconv.ParseUint(strings.ReplaceAll(digits, "_", ""), 0, 64)
		if err != nil {
			return Value{At: at, Kind: Number, Text: text}, true
		}
		return Value{At: at, Kind: Number, Text: sign + strconv.FormatUint(n, 10)}, true
	case fraction.MatchString(text):
		return Value{At: at, Kind: Number, Text: text}, true
	case quotedText.MatchString(text):
		return Value{At: at, Kind: Text, Text: text[1 : len(text)-1]}, true
	case escapedText.MatchString(text):
		return Value{At: at, Kind: Structure}, true // Python's escapes are not read
	case strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "("):
		return Value{At: at, Kind: Structure}, true
	}
	return Value{}, false
}

func isTemplate(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%")
}

// wholeNumber returns the value of a whole number that fits into 32 bits.
func (v Value) wholeNumber() (int, bool) {
	n, err := strconv.ParseInt(v.Text, 10, 32)
	return int(n), err == nil && (v.Kind == Number || v.Kind == Text)
}

// Truth returns the value of a boolean as Ansible reads it. ok is false if it
// is none.
func (v Value) Truth() (truth, ok bool) {
	switch strings.ToLower(strings.TrimSpace(v.Text)) {
	case "yes", "on", "1", "true", "t", "y", "1.0":
		return true, v.Kind == Text || v.Kind == Boolean || v.Kind == Number
	case "no", "off", "0", "false", "f", "n", "0.0":
		return false, v.Kind == Text || v.Kind == Boolean || v.Kind == Number
	}
	return false, false
}
