package change

import (
	"errors"
	"fmt"
	"os"
	"time"

	"holdfast/engine/etcd/database"
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

// DescribeTime returns when the file was last written.
func (f *SnapshotFile) DescribeTime() string { return describeTime(f.Time) }

func describeTime(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }
