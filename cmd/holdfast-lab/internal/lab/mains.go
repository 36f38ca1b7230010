package lab

import (
	"context"
	"fmt"

	"holdfast/cmd/holdfast-lab/internal/host"
)

// CutMains cuts the mains of the host: its power is cut, and its management controller does not answer.
func (h *Host) CutMains(ctx context.Context) error {
	state, err := h.State(ctx)
	if err == nil {
		err = h.folder.ChangeController(func(c *host.Controller) bool {
			if c.NoMains {
				return false
			}
			c.NoMains, c.WasOn = true, state != host.StateOff
			return true
		})
	}
	if err == nil {
		err = h.switchPower(ctx, Off)
	}
	if err != nil {
		return fmt.Errorf("cut mains of %s: %w", h.Name, err)
	}
	return nil
}

// RestoreMains restores the mains of the host. Then its PowerRestorePolicy decides whether it is switched on.
func (h *Host) RestoreMains(ctx context.Context) error {
	on := false
	err := h.folder.ChangeController(func(c *host.Controller) bool {
		if !c.NoMains {
			return false
		}
		on = !c.StaysOff()
		c.NoMains, c.WasOn = false, false
		return true
	})
	if err == nil && on {
		err = h.powerOn(ctx)
	}
	if err != nil {
		return fmt.Errorf("restore mains of %s: %w", h.Name, err)
	}
	return nil
}

// Controller returns the state of the host's management controller.
func (h *Host) Controller() (host.Controller, error) { return h.folder.Controller() }

func (h *Host) checkMains() error {
	c, err := h.folder.Controller()
	if err == nil && c.NoMains {
		err = fmt.Errorf(`its mains are cut; "holdfast-lab mains back %s" restores them`, h.Name)
	}
	return err
}
