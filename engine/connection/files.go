package connection

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/remote"
	"holdfast/engine/textutil"
)

// mostFile limits the files that are read from hosts, in bytes.
const mostFile = 1 << 20

// readFiles returns a function that reads files of a host as root, in one round trip. The
// error for a file that does not exist is fs.ErrNotExist.
func (h *Hosts) readFiles(host engine.Host) func(context.Context, ...string) ([][]byte, error) {
	return func(ctx context.Context, paths ...string) ([][]byte, error) {
		c, err := h.connectMember(ctx, host)
		if err != nil {
			return nil, err
		}
		commands := make([]engine.Command, len(paths))
		for i, path := range paths {
			commands[i] = engine.Command{Name: path, Script: h.script(path, mostFile)}
		}
		mark := "=holdfast-" + rand.Text()
		r, err := c.Run(ctx, remote.Command{Script: hostscript.ProbeScript(commands, mark), Become: true, MaxOutput: mostFile * int64(len(paths))})
		if err != nil {
			return nil, withoutHost(err) // it may be about a file of the bastion that does not exist
		}
		outputs, err := hostscript.ReadOutputs(commands, mark, r.Stdout, r.Stderr)
		if err != nil {
			return nil, err
		}
		files := make([][]byte, len(paths))
		for i, path := range paths {
			out := outputs[path]
			switch out.Code {
			case 0:
			case hostscript.ScriptNoFile:
				return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
			default:
				return nil, fmt.Errorf("read %s: %s", path, textutil.Printable(textutil.FirstLine(strings.TrimSpace(out.Stderr))))
			}
			files[i] = []byte(out.Stdout)
		}
		return files, nil
	}
}
