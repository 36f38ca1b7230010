package journal

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Machine identifies the hardware or image of a bastion: its machine ID ("" if
// it has none) and its host name.
type Machine struct {
	MachineID string `json:"machine_id"`
	Hostname  string `json:"hostname"`
}

// Bastion is the identity of a bastion. The identity is not kept with the
// journals, because people put journals into git or copy them to other
// bastions, and a bastion must adopt only its own holds.
type Bastion struct {
	Identity string `json:"identity"` // random
	Machine

	Replaced Machine `json:"-"` // machine in the file, if it is another machine
}

// bastionSchema is the version of the JSON of bastionFile. It only increases.
const bastionSchema = 1

type identityFile struct {
	Schema int `json:"schema"`
	Bastion
}

const stateFolderHint = "set XDG_STATE_HOME to a folder that lasts and can be written"

const bastionFile = "bastion.json"

// ReadBastion reads the identity from dir. If dir has no identity of this
// machine, it returns the zero value, which owns no hold.
func ReadBastion(dir string, here Machine) (Bastion, error) {
	path := filepath.Join(dir, bastionFile)
	text, err := readSmallFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Bastion{}, nil
	}
	if err != nil {
		return Bastion{}, fmt.Errorf("read the identity of this bastion: %w; %s", err, stateFolderHint)
	}
	if err := checkSchema(path, text, bastionSchema); err != nil {
		return Bastion{}, fmt.Errorf("read the identity of this bastion: %w", err)
	}
	var file identityFile
	b := &file.Bastion
	if err := json.Unmarshal(text, &file); err != nil || file.Schema != bastionSchema || len(b.Identity) < 32 {
		return Bastion{}, fmt.Errorf("read the identity of this bastion: %s is damaged; remove it, and the next run makes another: holds that runs of this bastion have left then have to be ended with holdfast release --force", path)
	}
	if b.Machine != here {
		return Bastion{Replaced: b.Machine}, nil
	}
	return *b, nil
}

// EnsureBastion reads the identity. It creates a new identity if dir has none,
// or has the identity of another machine, as on a copied disk.
func EnsureBastion(dir string, here Machine) (Bastion, error) {
	old, err := ReadBastion(dir, here)
	if err != nil || old.Identity != "" {
		return old, err
	}
	b := Bastion{Identity: newIdentity(), Machine: here}
	if err := b.writeTo(dir, old.Replaced != Machine{}); err != nil {
		return Bastion{}, fmt.Errorf("keep the identity of this bastion: %w; its holds could not be distinguished from holds of other bastions; %s", err, stateFolderHint)
	}
	kept, err := ReadBastion(dir, here) // another run may have created the identity first
	kept.Replaced = old.Replaced
	return kept, err
}

func newIdentity() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails, as documented
	return hex.EncodeToString(b)
}

// writeTo writes the identity into dir atomically. It replaces an existing file only if replace is set.
func (b Bastion) writeTo(dir string, replace bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(identityFile{bastionSchema, b})
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".bastion-*") // CreateTemp sets the mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	path := filepath.Join(dir, bastionFile)
	if replace {
		err = os.Rename(f.Name(), path)
	} else if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, syncFolder(dir))
}
