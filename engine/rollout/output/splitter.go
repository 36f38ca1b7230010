package output

import "strings"

// Splitter calls Each for every line of a stream that arrives in pieces.
type Splitter struct {
	Each func(string)
	rest string
	long bool // the beginning of this line was dropped, so its rest is dropped, too
}

// Write adds a piece of the stream.
func (l *Splitter) Write(b []byte) {
	all := strings.Split(l.rest+string(b), "\n")
	l.rest = all[len(all)-1]
	for _, line := range all[:len(all)-1] {
		if line = strings.TrimSpace(line); line != "" && !l.long {
			l.Each(line)
		}
		l.long = false
	}
	if len(l.rest) > 4096 { // the output is untrusted; a part of a line could be a part of a secret, which nothing recognises
		l.rest, l.long = "", true
	}
}

// Flush passes on the last line if it has no line end.
func (l *Splitter) Flush() {
	if rest := strings.TrimSpace(l.rest); rest != "" && !l.long {
		l.Each(rest)
	}
	l.rest, l.long = "", false
}
