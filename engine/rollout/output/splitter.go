package output

import "strings"

// Splitter calls Each for every line of a stream that arrives in pieces.
type Splitter struct {
	Each func(string)
	rest string
}

// Write adds a piece of the stream.
func (l *Splitter) Write(b []byte) {
	all := strings.Split(l.rest+string(b), "\n")
	l.rest = all[len(all)-1]
	if len(l.rest) > 4096 {
		l.rest = "" // the output is untrusted, so the length of a line is limited
	}
	for _, line := range all[:len(all)-1] {
		if line = strings.TrimSpace(line); line != "" {
			l.Each(line)
		}
	}
}

// Flush passes on the last line if it has no line end.
func (l *Splitter) Flush() {
	if rest := strings.TrimSpace(l.rest); rest != "" {
		l.Each(rest)
	}
	l.rest = ""
}
