package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

func isChecksum(s string) bool {
	return len(s) == 2*checksumSize && strings.Trim(s, "0123456789abcdef") == ""
}

// Report is the result of a check of one commit.
type Report struct {
	Objects int   // of the commit
	Bytes   int64 // of the objects that exist
	Missing []Object
	Damaged []Object
}

// Check reads a commit and lists the objects that are missing or damaged. It always reads metadata. It reads files only
// with verify; without verify, it only checks that the files exist. It cannot list the objects below a missing
// directory.
func (r *Repository) Check(ctx context.Context, commit string, verify bool) (Report, error) {
	var report Report
	sizes, err := r.walkObjects(ctx, commit, func(o Object, err error) error {
		switch {
		case err == nil && o.Kind == File && verify:
			err = r.verifyFile(ctx, o)
		case err == nil:
			return nil
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			report.Missing = append(report.Missing, o)
		case errors.Is(err, errDamaged):
			report.Damaged = append(report.Damaged, o)
		default:
			return err
		}
		return nil
	})
	report.Objects = len(sizes)
	for _, n := range sizes {
		report.Bytes += n
	}
	return report, err
}

// Incomplete is the error for a commit that lacks objects.
type Incomplete struct {
	Commit  string
	Missing int // number of objects that are known to be missing; missing metadata may name more
}

// Error returns the commit and the number of missing objects.
func (e Incomplete) Error() string {
	return fmt.Sprintf("commit %s lacks %d of its objects", e.Commit, e.Missing)
}

// Size returns the size in bytes of the objects that a host must fetch for a commit. The host already has the objects of
// the commit have. The real transfer is smaller if the mirror lacks the commit have, or if the host uses a static delta.
// The error is an Incomplete if the commit lacks objects.
func (r *Repository) Size(ctx context.Context, commit, have string) (int64, error) {
	lacks := Incomplete{Commit: commit}
	sizes, err := r.walkObjects(ctx, commit, func(_ Object, err error) error {
		if err != nil {
			lacks.Missing++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if lacks.Missing > 0 {
		return 0, lacks
	}
	if isChecksum(have) {
		old, err := r.walkObjects(ctx, have, func(Object, error) error { return nil })
		if err != nil {
			return 0, err
		}
		for o := range old {
			delete(sizes, o)
		}
	}
	var sum int64
	for _, n := range sizes {
		sum += n
	}
	return sum, nil
}

// walkObjects visits every object of a commit once, and returns the sizes of the objects. visit gets an error if the
// object cannot be found, or if it is metadata and cannot be read. visit may return an error to end the walk.
func (r *Repository) walkObjects(ctx context.Context, commit string, visit func(Object, error) error) (map[Object]int64, error) {
	if !isChecksum(commit) {
		return nil, fmt.Errorf("%q is not a commit", commit)
	}
	sizes := map[Object]int64{}
	queue := []Object{{commit, Commit}}
	for len(queue) > 0 {
		o := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if _, ok := sizes[o]; ok {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(sizes) == r.most {
			return nil, fmt.Errorf("commit %s has more than %d objects", commit, r.most)
		}
		size, next, err := r.inspectObject(o)
		sizes[o] = size
		if err := visit(o, err); err != nil {
			return nil, fmt.Errorf("read %s: %w", o.Path(), err)
		}
		queue = append(queue, next...)
	}
	return sizes, nil
}

func (r *Repository) inspectObject(o Object) (size int64, next []Object, err error) {
	if o.Kind == File {
		info, err := r.root.Lstat(o.Path())
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file, and is not served; replace it with the file", o.Path())
		}
		if err != nil {
			return 0, nil, err
		}
		return info.Size(), nil, nil
	}
	data, err := r.readMetadata(o)
	if err != nil {
		return 0, nil, err
	}
	switch o.Kind {
	case Commit:
		next, err = parseCommit(data)
	case DirTree:
		next, err = parseTree(data)
	case DirMeta, File: // these kinds name no other objects
	}
	return int64(len(data)), next, err
}

// DeltaSize returns the size of the static delta with that superblock, or 0 if the delta cannot be read.
func (r *Repository) DeltaSize(superblock string) int64 {
	folder, err := r.root.Open(path.Dir(superblock))
	if err != nil {
		return 0
	}
	defer func() { _ = folder.Close() }() // read only
	entries, err := folder.ReadDir(maxDeltaParts)
	if err != nil {
		return 0
	}
	var sum int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

const maxDeltaParts = 10000
