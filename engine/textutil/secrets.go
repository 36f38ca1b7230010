package textutil

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Secrets hides sensitive values in texts. Only its methods cut texts: a part of a value is no longer recognised, so a text
// is cut after its values are hidden. The zero value hides only passwords in URLs.
type Secrets struct {
	replacer  *strings.Replacer
	spellings []string // the longest first
}

// Hidden replaces a sensitive value.
const Hidden = "(sensitive)"

// NewSecrets returns the Secrets that hide these values, in all forms in which programs print them.
func NewSecrets(values []string) Secrets {
	var s Secrets
	for _, v := range values {
		s.spellings = append(s.spellings, spellValue(v)...)
	}
	// The longest first, because one value may contain another.
	slices.SortFunc(s.spellings, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	s.spellings = slices.DeleteFunc(slices.Compact(s.spellings), func(v string) bool { return v == "" })
	if len(s.spellings) == 0 {
		return s
	}
	var pairs []string
	for _, v := range s.spellings {
		pairs = append(pairs, v, Hidden)
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

// Any reports whether there are values to hide.
func (s Secrets) Any() bool { return s.replacer != nil }

// Hide returns a text without the values.
func (s Secrets) Hide(text string) string {
	if s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// HideOutput returns the output of a program without the values and without passwords in URLs. If the output was cut at its
// end, a part of a value there is hidden, too.
func (s Secrets) HideOutput(text string, cut bool) string {
	text = HideURLPasswords(s.Hide(text))
	if !cut {
		return text
	}
	part := 0
	for _, v := range s.spellings {
		for n := min(len(v)-1, len(text)); n > part; n-- {
			if strings.HasSuffix(text, v[:n]) {
				part = n
			}
		}
	}
	if part == 0 {
		return text
	}
	return text[:len(text)-part] + Hidden
}

// KeepTail returns the last bytes of a text without the values, after "…" if the text is longer.
func (s Secrets) KeepTail(text string, most int) string {
	text = strings.TrimSpace(s.HideOutput(text, false))
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return text
}

var urlPassword = regexp.MustCompile(`://[^/?#\s:@"']*:([^/?#\s@"']+)@`)

// HideURLPasswords replaces each character of a password in a URL, so that columns stay.
func HideURLPasswords(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	var b strings.Builder
	from := 0
	for _, m := range urlPassword.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[from:m[2]] + strings.Repeat("*", len([]rune(text[m[2]:m[3]]))))
		from = m[3]
	}
	return b.String() + text[from:]
}

// longLine is the minimum length, in bytes, of a line that is hidden by itself. It applies to the lines of sensitive
// values with several lines, and to encoded forms of values. Shorter ones, such as "}", are too common.
const longLine = 8

// spellValue returns the forms in which a value may appear: unchanged, trimmed, and line by line. It also returns each
// of these quoted as in sh, Go and JSON, and encoded.
func spellValue(v string) []string {
	trimmed := strings.TrimSpace(v)
	plain := []string{v, trimmed}
	if lines := strings.Split(trimmed, "\n"); len(lines) > 1 {
		for _, l := range lines {
			if l = strings.TrimSpace(l); len(l) >= longLine {
				plain = append(plain, l)
			}
		}
	}
	all := slices.Clone(plain)
	for _, p := range plain {
		all = append(all, strings.ReplaceAll(p, "'", `'\''`), withoutQuotes(strconv.Quote(p)))
		if p == "" {
			continue
		}
		if text, err := json.Marshal(p); err == nil { // escapes <, > and &
			all = append(all, withoutQuotes(string(text)), strings.ReplaceAll(withoutQuotes(string(text)), "/", `\/`))
		}
		all = append(all, html.EscapeString(p), strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(html.EscapeString(p)))
		query := escapePercent(p, "")
		for _, escaped := range []string{query, strings.ReplaceAll(query, "%20", "+"), escapePercent(p, "$&+:=@"), escapePercent(p, "$&+,/:;=@!'()*")} {
			all = append(all, escaped, lowerEscapes(escaped))
		}
		if len(p) >= longLine {
			all = append(all, encodeValue(p)...)
		}
	}
	return all
}

func withoutQuotes(quoted string) string { return quoted[1 : len(quoted)-1] }

// escapePercent escapes a part of a URL. The characters of keep stay unchanged; they differ between the parts of a URL.
func escapePercent(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_.~"+keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

var percentEscape = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerEscapes(s string) string { return percentEscape.ReplaceAllStringFunc(s, strings.ToLower) }

// encodeValue returns the value in hexadecimal digits and in base64. It also returns the base64 characters that do not
// depend on the text around the value, such as "user:" before it.
func encodeValue(v string) []string {
	digits := hex.EncodeToString([]byte(v))
	all := []string{digits, strings.ToUpper(digits)}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding} {
		all = append(all, e.EncodeToString([]byte(v)))
		for before := range 3 {
			text := e.EncodeToString([]byte(strings.Repeat("x", before) + v))
			all = append(all, text[[]int{0, 2, 3}[before]:(before+len(v))*8/6])
		}
	}
	return all
}
