package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"holdfast/engine/content/regular"
)

// Repository is a folder with an ostree repository in archive mode. It reads no file outside of the folder.
type Repository struct {
	root *os.Root
	most int // objects of a commit
}

// maxObjects bounds the objects of a commit. A large OS has some 200,000.
const maxObjects = 5_000_000

// Open opens the repository in a folder.
func Open(folder string) (*Repository, error) {
	root, err := regular.OpenFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("open the ostree repository: %w", err)
	}
	r := &Repository{root: root, most: maxObjects}
	mode, err := r.readMode()
	if err == nil && mode != "archive" && mode != "archive-z2" {
		err = fmt.Errorf("its mode is %q; only the mode archive can be served: make one with ostree init --mode=archive, or with holdfast mirror --from", mode)
	}
	if err != nil {
		_ = root.Close() // read only
		return nil, fmt.Errorf("open the ostree repository %s: %w", folder, err)
	}
	return r, nil
}

// Close closes the repository.
func (r *Repository) Close() error { return r.root.Close() }

const maxConfig = 1 << 20

func (r *Repository) readMode() (string, error) {
	data, err := regular.ReadFile(r.root, "config", maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("it has no config file, so it is not a repository")
	}
	if err != nil {
		return "", err
	}
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	for section := ""; lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = line
		}
		name, value, ok := strings.Cut(line, "=")
		if ok && section == "[core]" && strings.TrimSpace(name) == "mode" {
			return strings.TrimSpace(value), nil
		}
	}
	return "bare", nil // ostree's default
}

// OpenFile opens a regular file of the repository. It follows no link, except between refs (ostree refs --create
// --alias), and does not wait for a pipe. It does not open the config file under another name.
func (r *Repository) OpenFile(name string) (*os.File, fs.FileInfo, error) {
	if target, ok := r.refOf(name); ok {
		name = target
	}
	f, info, err := regular.Open(r.root, name)
	if err != nil {
		return nil, nil, err
	}
	if config, err := r.root.Lstat("config"); err != nil || os.SameFile(config, info) {
		_ = f.Close() // read only
		return nil, nil, fmt.Errorf("%s is the config file, which may have passwords", name)
	}
	return f, info, nil
}

// refOf returns the path of the ref that another ref leads to.
func (r *Repository) refOf(name string) (string, bool) {
	if !strings.HasPrefix(name, "refs/") {
		return "", false
	}
	target, err := r.root.Readlink(name)
	if err != nil || path.IsAbs(target) {
		return "", false
	}
	target = path.Join(path.Dir(name), target)
	return target, strings.HasPrefix(target, "refs/")
}

// maxMetadata bounds a metadata object, as ostree does.
const maxMetadata = 128 << 20

// readMetadata returns the data of a metadata object. It fails if the data do not have its checksum.
func (r *Repository) readMetadata(o Object) ([]byte, error) {
	data, err := regular.ReadFile(r.root, o.Path(), maxMetadata)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != o.Checksum {
		return nil, errDamaged
	}
	return data, nil
}

var errDamaged = errors.New("its contents do not have its checksum")
