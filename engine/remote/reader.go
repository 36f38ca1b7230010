package remote

import (
	"os"
	"sync"
)

// fileReader reads files of the user, and warns of harmless errors in them.
type fileReader struct {
	read func(path string) ([]byte, error)
	warn func(text string) // each text once
}

// newFileReader returns a reader that uses a function, or os.ReadFile, and warns
// through another if there is one.
func newFileReader(read func(path string) ([]byte, error), warn func(text string)) fileReader {
	r := fileReader{read: read, warn: func(string) {}}
	if r.read == nil {
		r.read = os.ReadFile
	}
	if warn != nil {
		var told sync.Map
		r.warn = func(text string) {
			if _, again := told.LoadOrStore(text, true); !again {
				warn(text)
			}
		}
	}
	return r
}
