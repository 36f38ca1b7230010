package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Controller is the state of the management controller of a host. It survives power cuts.
type Controller struct {
	// RestorePolicy is what happens when the mains return: AlwaysOn, AlwaysOff or LastState.
	RestorePolicy string `json:"restore_policy"`
	// Light is the locator light.
	Light bool `json:"light"`
	// Revision counts the changes of these two.
	Revision int `json:"revision"`
	// NoMains is true while the mains are cut. Then neither the host nor its controller has power.
	NoMains bool `json:"no_mains,omitempty"`
	// WasOn is true if the host was on when the mains were cut.
	WasOn bool `json:"was_on,omitempty"`
}

// StaysOff reports whether the host stays off when the mains return.
func (c Controller) StaysOff() bool {
	return c.RestorePolicy == "AlwaysOff" || c.RestorePolicy != "AlwaysOn" && !c.WasOn
}

// Controller reads the state of the host's management controller.
func (f Folder) Controller() (c Controller, err error) {
	err = f.ChangeController(func(now *Controller) bool {
		c = *now
		return false
	})
	return c, err
}

// ChangeController calls change, and keeps the state unless change returns false. Meanwhile no other process changes it.
func (f Folder) ChangeController(change func(*Controller) bool) (err error) {
	file, err := os.OpenFile(f.path("controller.json"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("open controller: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }() // this also releases the lock
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock controller: %w", err)
	}
	raw, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("read controller: %w", err)
	}
	c := Controller{RestorePolicy: "LastState"}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			return fmt.Errorf("read controller: %w", err)
		}
	}
	if !change(&c) {
		return nil
	}
	if raw, err = json.Marshal(c); err != nil {
		return fmt.Errorf("write controller: %w", err)
	}
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("write controller: %w", err)
	}
	if _, err := file.WriteAt(raw, 0); err != nil {
		return fmt.Errorf("write controller: %w", err)
	}
	return nil
}
