package archive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// signatureEntry returns an entry of detached metadata: a dictionary entry {sv} with a list of signatures.
func signatureEntry(key string, signatures ...string) string {
	entry := key + "\x00"
	entry += strings.Repeat("\x00", (8-len(entry)%8)%8)
	list, ends := "", ""
	for _, s := range signatures {
		list += s
		ends += string(rune(len(list)))
	}
	return entry + list + ends + "\x00aay" + string(rune(len(key)+1))
}

// joinEntries returns detached metadata, at most 127 bytes: an array a{sv}.
func joinEntries(entries ...string) string {
	data, ends := "", ""
	for _, e := range entries {
		data += strings.Repeat("\x00", (8-len(data)%8)%8) + e
		ends += string(rune(len(data)))
	}
	return data + ends
}

// TestSignaturesAreFound checks which detached metadata have signatures.
func TestSignaturesAreFound(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "config"), []byte("[core]\nmode=archive\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := openRepository(t, folder)
	commit := strings.Repeat("ab", checksumSize)
	file := filepath.Join(folder, "objects/ab", commit[2:]+".commitmeta")
	if signed, err := r.HasSignatures(commit); err != nil || signed {
		t.Errorf("without detached metadata: %v, %v", signed, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	gpg, other := signatureEntry("ostree.gpgsigs", strings.Repeat("s", 40)), signatureEntry("com.example.note", "text")
	for name, c := range map[string]struct {
		data   string
		signed bool
	}{
		"GPG":                        {joinEntries(gpg), true},
		"ed25519":                    {joinEntries(signatureEntry("ostree.sign.ed25519", strings.Repeat("s", 64))), true},
		"two signatures":             {joinEntries(signatureEntry("ostree.gpgsigs", "first", "second")), true},
		"a note, too":                {joinEntries(other, gpg), true},
		"a note only":                {joinEntries(other), false},
		"no entry":                   {"", false},
		"an entry without signature": {joinEntries(signatureEntry("ostree.gpgsigs")), false},
		"an empty signature":         {joinEntries(signatureEntry("ostree.gpgsigs", "")), false},
		"a signature of other type":  {strings.Replace(joinEntries(gpg), "\x00aay", "\x00aas", 1), false},
		"text":                       {"<html>not found</html>", false},
		"zeros":                      {strings.Repeat("\x00", 100), false},
	} {
		if err := os.WriteFile(file, []byte(c.data), 0o644); err != nil {
			t.Fatal(err)
		}
		if signed, err := r.HasSignatures(commit); err != nil || signed != c.signed {
			t.Errorf("%s: signed %v, %v; want %v", name, signed, err, c.signed)
		}
	}
	for n := range len(joinEntries(gpg)) {
		if signed := hasSignatures([]byte(joinEntries(gpg)[:n])); signed {
			t.Errorf("the first %d bytes have signatures", n)
		}
	}
	if err := os.Truncate(file, maxDetached+1); err != nil {
		t.Fatal(err)
	}
	if signed, err := r.HasSignatures(commit); err == nil || signed {
		t.Errorf("a file that is too large: signed %v", signed)
	}
	if _, err := r.HasSignatures("ab"); err == nil {
		t.Error("ab is no commit")
	}
}

// TestAnyDetachedMetadataAreRead checks that nothing makes hasSignatures panic.
func TestAnyDetachedMetadataAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		_ = hasSignatures(data)
		_ = hasSignatures(append([]byte(joinEntries(signatureEntry("ostree.gpgsigs", "s"))), data...))
	})
}
