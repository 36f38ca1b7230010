package sshconfig

import (
	"os"
	"sync"
)

// Reader reads files of the user, and warns about harmless errors in them.
type Reader struct {
	Read func(path string) ([]byte, error)
	Warn func(text string) // called once for each text
}

// NewReader returns a reader that calls read (nil: os.ReadFile) for files and
// warn (nil: nothing) once for each warning.
func NewReader(read func(path string) ([]byte, error), warn func(text string)) Reader {
	r := Reader{Read: read, Warn: func(string) {}}
	if r.Read == nil {
		r.Read = os.ReadFile
	}
	if warn != nil {
		var told sync.Map
		r.Warn = func(text string) {
			if _, again := told.LoadOrStore(text, true); !again {
				warn(text)
			}
		}
	}
	return r
}
