package syntax

import "strings"

// MaxTOMLDepth is the largest number of values that contain a value of a TOML file.
const MaxTOMLDepth = 100

// IsTOMLTooDeep reports whether a TOML file opens too many brackets without closing them, or has a key of too many names. The
// parser would need memory for the square of their number.
func IsTOMLTooDeep(text string) bool {
	depth := 0
	for line := range strings.Lines(text) {
		parts := strings.Split(line, "=") // a key is in front of each sign, after a brace or comma; the last part is a key only in a header
		if !strings.HasPrefix(strings.TrimSpace(line), "[") {
			parts = parts[:len(parts)-1]
		}
		for _, part := range parts {
			if strings.Count(part[strings.LastIndexAny(part, "{,")+1:], ".") > MaxTOMLDepth {
				return true
			}
		}
		for _, c := range []byte(line) {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(0, depth-1)
			}
			if depth > MaxTOMLDepth {
				return true
			}
		}
	}
	return false
}
