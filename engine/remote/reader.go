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

func newFileReader(o Options) fileReader {
	r := fileReader{read: o.ReadFile, warn: func(string) {}}
	if r.read == nil {
		r.read = os.ReadFile
	}
	if o.Warn != nil {
		var told sync.Map
		r.warn = func(text string) {
			if _, again := told.LoadOrStore(text, true); !again {
				o.Warn(text)
			}
		}
	}
	return r
}
