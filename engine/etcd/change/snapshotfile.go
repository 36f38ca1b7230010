package change

import (
	"errors"
	"fmt"
	"os"
	"time"

	"holdfast/engine/etcd/database"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/etcd/snapshot"
)

// ReadSnapshot reads the revision and the members of a snapshot on the bastion. It does not check the hash, for which it
// would have to read the whole file.
func ReadSnapshot(path string) (*SnapshotFile, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	f := &SnapshotFile{Path: path, Size: info.Size(), Time: info.ModTime()}
	if f.Contents, err = database.Read(file, info.Size()); err != nil {
		return f, fmt.Errorf("%s is not a snapshot of etcd: %w", path, err)
	}
	return f, nil
}

// OpenSnapshot checks that a snapshot matches the hash at its end and contains a revision and members.
func OpenSnapshot(path string) (*SnapshotFile, error) {
	f, readErr := ReadSnapshot(path)
	if f == nil || errors.Is(readErr, database.ErrFormat) {
		return nil, readErr
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	f.Size, f.SHA256, err = snapshot.Check(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case readErr != nil:
		return nil, readErr
	case f.Contents.Revision == 0 || len(f.Contents.Members) == 0:
		return nil, fmt.Errorf("%s is not a snapshot of an etcd cluster: it has revision %d and %d members", path, f.Contents.Revision, len(f.Contents.Members))
	}
	return f, nil
}

// Source returns the contents of a snapshot whose hash was not checked, to be compared with the source of a restore.
func (f *SnapshotFile) Source() restore.Source {
	source := restore.Source{Path: f.Path, Data: restore.Data{Revision: f.Contents.Revision, Time: describeTime(f.Time)}}
	for _, m := range f.Contents.Members {
		source.Members = append(source.Members, membership.Member{ID: m.ID, Name: m.Name, Learner: m.Learner})
	}
	return source
}

func describeTime(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }
