package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/image"
)

// Names that every lab's folder has. A lab removes only its own names (ownNames)
// from its folder, because people may put other files there.
const (
	// markerName is the file that shows that a folder is a lab's. It is made first and removed last.
	markerName = "made-by-holdfast-lab"
	lockName   = "lock"
	stateName  = "lab.json"
)

// markerText is for people who try to remove a lab with rm.
const markerText = "This folder is a lab of holdfast-lab, which has immutable files, so that rm does not remove it.\n" +
	"This removes it: holdfast-lab --dir FOLDER down --all\n"

func imageName(s image.Suite) string {
	if s == image.DefaultSuite {
		return "image"
	}
	return "image-" + string(s)
}

func imageNames() []string {
	var names []string
	for _, s := range image.Suites() {
		names = append(names, imageName(s))
	}
	return names
}

// hostsNames are the names that a lab with hosts has in addition to lab.json.
var hostsNames = append([]string{"hosts", "site", "pki", "bin", "demo", serveName, "serve.log", bmcFolder, bmcName, bmcService.log}, kubernetesNames()...)

func ownNames() []string {
	return slices.Concat(hostsNames, imageNames(), []string{besideName, stateName + ".new", stateName, useName, lockName, markerName})
}

// Claim makes the lab's folder unless it exists. It refuses a folder that belongs
// to no lab, because Down would remove files there that have names of a lab.
func (l *Lab) Claim() error {
	if err := checkOwnFolder(l.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return fmt.Errorf("make lab folder: %w", err)
	}
	if err := l.markFolder(); err != nil {
		return fmt.Errorf("mark lab folder: %w", err)
	}
	f, err := l.openOwnFile(lockName, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return fmt.Errorf("lock lab: %w", err)
	}
	return f.Close()
}

func (l *Lab) markFolder() error {
	f, err := l.openOwnFile(markerName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = l.openOwnFile(markerName, os.O_CREATE|os.O_WRONLY); err == nil {
			_, err = f.WriteString(markerText)
		}
	}
	if f == nil {
		return err
	}
	return errors.Join(err, f.Close())
}

// buildImage makes the image unless it exists. Before, it makes the marker as immutable as the deployments of the image are, so
// that rm leaves none of these without the marker.
func (l *Lab) buildImage(ctx context.Context, store image.Store) error {
	if err := image.SetImmutable(l.path(markerName), true); err != nil {
		return fmt.Errorf("mark lab folder: %w", err)
	}
	return store.Build(ctx)
}

// checkOwnFolder returns an error unless the folder is empty or belongs to a lab.
// The folder of a lab has the marker, or the lock. A folder with only the lock,
// without an image and without lab.json, belongs to a lab only if it has no
// other files.
func checkOwnFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into lab folder: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "lost+found" { // every new ext4 filesystem has this folder
			names = append(names, e.Name())
		}
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	foreign := func(name string) bool { return !slices.Contains(ownNames(), name) }
	if len(names) == 0 || has(markerName) || has(lockName) && (slices.ContainsFunc(imageNames(), has) || has(stateName) || !slices.ContainsFunc(names, foreign)) {
		return nil
	}
	return fmt.Errorf("%s is not a lab, and it is not empty: it holds %s; name another folder with --dir", dir, nameSome(names))
}

func nameSome(names []string) string {
	const most = 3
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

func (l *Lab) removeAll() error {
	for _, name := range ownNames() { // the marker comes last
		if name == markerName {
			if err := image.SetImmutable(l.path(name), false); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := image.Remove(l.path(name)); err != nil {
			return err
		}
	}
	err := unix.Rmdir(l.dir) // os.Remove would also remove a symbolic link to the folder
	switch {
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
		l.log("%s stays: there are files in it that are not the lab's", l.dir)
	case err != nil && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOTDIR): // EBUSY: a mount point; ENOTDIR: a link; both stay
		return fmt.Errorf("remove lab folder: %w", err)
	}
	return nil
}
