package observe

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"

	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

// readContents reads lines of the form KIND PATH BASE64. The contents must match
// the digest in the same output, because a local account may have put another
// file at the path for a moment. If they do not match, a file that text is
// appended to becomes a problem. Contents that only help to choose a rule are
// ignored.
func (l *probeReader) readContents(c resource.Config) error {
	appended := map[string]*resource.File{}
	configs := []resource.Config{c}
	if l.facts.Applied != nil {
		configs = append(configs, record.Configs(*l.facts.Applied)...)
	}
	for _, c := range configs { // the desired configuration first: it decides owner and mode
		for i, f := range c.Files {
			if f.Inherit && appended[f.Path] == nil {
				appended[f.Path] = &c.Files[i]
			}
		}
	}
	read := map[string]bool{}
	for _, line := range l.parts["contents"] {
		w := strings.SplitN(line, "\t", 3)
		if len(w) != 3 || !l.requested[w[1]] {
			return malformedLineError("contents", line)
		}
		data, err := base64.StdEncoding.DecodeString(w[2])
		if err != nil {
			return malformedLineError("contents", line)
		}
		n := l.facts.Nodes[w[1]]
		if w[0] == "base" {
			err = checkContentSize(w[1], data)
			n.Base = data
		} else {
			n.Contents, err = contentsOf(n, w[0], w[1], data)
			if f := appended[w[1]]; err == nil && f != nil && w[0] == "archive" {
				err = staysAsClosed(*f, n)
			}
			read[w[1]] = true
		}
		switch {
		case err == nil:
			l.facts.Nodes[w[1]] = n
		case appended[w[1]] != nil:
			return err
		}
	}
	for p := range appended {
		if l.facts.Nodes[p].Type == resource.PathFile && !read[p] {
			return changedWhileReadError(p)
		}
	}
	return nil
}

// contentsOf returns the contents of a file. If the probe has sent an archive,
// its header has the owner and mode of exactly these contents.
func contentsOf(n resource.PathFacts, kind, path string, data []byte) ([]byte, error) {
	if kind == "archive" {
		archive := tar.NewReader(bytes.NewReader(data))
		h, err := archive.Next()
		if err != nil || h.Typeflag != tar.TypeReg || int(h.Mode&0o7777) != n.Mode || h.Uid != n.UID || h.Gid != n.GID {
			return nil, changedWhileReadError(path)
		}
		data, err = io.ReadAll(io.LimitReader(archive, maxContents+1))
		if err != nil && len(data) <= maxContents {
			return nil, changedWhileReadError(path)
		}
	}
	if err := checkContentSize(path, data); err != nil {
		return nil, err
	}
	if resource.Digest(data) != n.Digest {
		return nil, changedWhileReadError(path)
	}
	return data, nil
}

func checkContentSize(path string, data []byte) error {
	if len(data) > maxContents {
		return fmt.Errorf("%s has more than %d MiB, which is too much to append to, or to remove an addition from; shorten it, or give its contents instead", path, maxContents>>20)
	}
	return nil
}

func changedWhileReadError(path string) error {
	return fmt.Errorf("%s: %s changed while it was read; run the command again", ProbeName, path)
}

// staysAsClosed returns an error if appending would give anybody more access to a
// file in a directory that other accounts can change. With such a file, an
// account could move the file of another account to the path, and get its
// contents.
func staysAsClosed(f resource.File, n resource.PathFacts) error {
	if NamesAccount(f.Owner.User, n.UID, n.User) && NamesAccount(f.Owner.Group, n.GID, n.Group) && (f.Mode == nil || *f.Mode&^n.Mode&0o077 == 0) {
		return nil
	}
	return fmt.Errorf("%s is %s's with mode %04o, in a directory that others than root can change; with another owner or more rights, others could read it: "+
		"change its owner and mode on the host, or give its contents instead of appending", f.Path, ownerName(n), n.Mode)
}

func ownerName(n resource.PathFacts) string {
	if n.User != "" {
		return n.User
	}
	return strconv.Itoa(n.UID)
}

// NamesAccount reports whether wanted (a name, an ID, or "" for any account)
// means the account with that ID and name.
func NamesAccount(wanted string, id int, name string) bool {
	if wanted == "" {
		return true
	}
	if n, err := strconv.Atoi(wanted); err == nil {
		return n == id
	}
	return wanted == name
}
