package textutil

import (
	"errors"
	"io/fs"
)

// ErrorWithoutPath returns the cause of an error about a file, for a message
// that already names the file.
func ErrorWithoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
