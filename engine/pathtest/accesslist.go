package pathtest

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Access control lists of a file or directory, and the default lists of a
// directory, which new files in it inherit.
const (
	AccessList  = "system.posix_acl_access"
	DefaultList = "system.posix_acl_default"
)

// Share gives an access control list to a path, which lets the account 65534 do
// everything. It skips the test if the file system has no such lists.
func Share(t testing.TB, path, list string) {
	t.Helper()
	const nobody = ^uint32(0)
	acl := binary.LittleEndian.AppendUint32(nil, 2) // the version of the format
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, 7, nobody}, {0x02, 7, 65534}, {0x04, 5, nobody}, {0x10, 7, nobody}, {0x20, 5, nobody}} {
		acl = binary.LittleEndian.AppendUint16(acl, e.tag)
		acl = binary.LittleEndian.AppendUint16(acl, e.perm)
		acl = binary.LittleEndian.AppendUint32(acl, e.id)
	}
	err := syscall.Setxattr(path, list, acl, 0)
	if errors.Is(err, syscall.ENOTSUP) {
		t.Skip("the file system of the test has no access control lists")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Shared lists the paths below a directory that have an access control list, each
// relative to the directory and with the kind of list.
func Shared(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		for _, name := range []string{AccessList, DefaultList} {
			if n, err := syscall.Getxattr(path, name, nil); err == nil && n > 0 {
				below, _ := filepath.Rel(dir, path)
				list = append(list, below+" "+strings.TrimPrefix(name, "system.posix_acl_"))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
