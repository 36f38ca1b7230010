package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/site"
)

const (
	softVersion = "1.1"            // OS with the kernel of the first one
	firmware    = 10 * time.Second // time before each boot; a soft reboot goes through no firmware
)

func (d Demo) options() lab.Options {
	if d.Soft {
		return lab.Options{Suite: image.TestingComposefs}
	}
	return lab.Options{}
}

// chooseTarget returns the commit of the OS that the hosts get.
func (d Demo) chooseTarget(ctx context.Context) (string, error) {
	if !d.Soft {
		_, second, err := d.Lab.Commits()
		return second, err
	}
	versions, err := d.Lab.Versions()
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(versions, func(v image.Version) bool { return v.Version == softVersion }); i >= 0 {
		return versions[i].Commit, nil
	}
	return d.Lab.Commit(ctx, softVersion, image.Changes{Payload: image.EqualFiles(5 << 20), SameKernel: true})
}

// writeInventory returns the path of the inventory of the demo.
func (d Demo) writeInventory() (string, error) {
	path := filepath.Join(d.Lab.Site(), site.Inventory)
	if !d.Soft {
		return path, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("write inventory: %w", err)
	}
	path = filepath.Join(d.Lab.Site(), "soft.hcl")
	if err := os.WriteFile(path, []byte(allowSoftReboots(string(text))), 0o600); err != nil {
		return "", fmt.Errorf("write inventory: %w", err)
	}
	return path, nil
}

// allowSoftReboots adds a block to each pool of an inventory.
func allowSoftReboots(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(line)
		if strings.HasPrefix(line, `pool "`) {
			b.WriteString("  reboot {\n    soft = \"auto\"\n  }\n")
		}
	}
	return b.String()
}

func (d Demo) setFirmware(ctx context.Context, takes time.Duration) error {
	if !d.Soft {
		return nil
	}
	var errs []error
	for _, h := range d.Lab.Hosts() {
		errs = append(errs, h.SetPost(ctx, takes))
	}
	return errors.Join(errs...)
}

func (d Demo) readBoots(ctx context.Context) (map[string]string, error) {
	boots := map[string]string{}
	for _, h := range d.Lab.Hosts() {
		id, err := h.BootID(ctx)
		if err != nil {
			return nil, err
		}
		boots[h.Name] = id
	}
	return boots, nil
}

// checkSoft checks that no kernel has booted since before.
func (d Demo) checkSoft(ctx context.Context, before map[string]string) error {
	if !d.Soft {
		return nil
	}
	after, err := d.readBoots(ctx)
	if err != nil {
		return err
	}
	var wrong []error
	for _, h := range d.Lab.Hosts() {
		if after[h.Name] != before[h.Name] {
			wrong = append(wrong, fmt.Errorf("%s has not soft rebooted: its kernel has booted", h.Name))
		}
	}
	return errors.Join(wrong...)
}
