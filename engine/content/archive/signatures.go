package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"holdfast/engine/content/regular"
)

// detachedMetadata is the extension of a file with metadata that the checksum of a commit does not cover: a dictionary
// a{sv}, which has the signatures of the commit.
const detachedMetadata = "commitmeta"

// maxDetached bounds detached metadata. No checksum pins them, so the source of a repository can send anything.
const maxDetached = 16 << 20

// HasSignatures reports whether the repository has detached signatures of a commit. It does not verify them, because
// only the hosts have the keys. Detached metadata that are damaged have no signatures.
func (r *Repository) HasSignatures(commit string) (bool, error) {
	if !isChecksum(commit) {
		return false, fmt.Errorf("%q is not a commit", commit)
	}
	data, err := regular.ReadFile(r.root, Object{commit, detachedMetadata}.Path(), maxDetached)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && hasSignatures(data), err
}

func hasSignatures(data []byte) bool {
	entries, err := splitArray(data, 8)
	return err == nil && slices.ContainsFunc(entries, isSignatureEntry)
}

// isSignatureEntry reports whether an entry {sv} has a key of signatures, and a list aay with one that is not empty.
func isSignatureEntry(entry []byte) bool {
	end, err := readOffset(entry, 0, len(entry))
	if err != nil || end == 0 || entry[end-1] != 0 {
		return false
	}
	key := string(entry[:end-1])
	begin := alignOffset(end, 8)
	limit := len(entry) - offsetSize(len(entry))
	if key != "ostree.gpgsigs" && !strings.HasPrefix(key, "ostree.sign.") || begin > limit {
		return false
	}
	list, ok := bytes.CutSuffix(entry[begin:limit], []byte("\x00aay"))
	if !ok {
		return false
	}
	signatures, err := splitArray(list, 1)
	return err == nil && slices.ContainsFunc(signatures, func(s []byte) bool { return len(s) > 0 })
}
