package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/engine/textutil"
)

// checkPower returns an error with the cause if the host is off and its supervisor has ended. Only the
// power switch can start such a host, so nobody needs to wait for it.
func (h *Host) checkPower(ctx context.Context) error {
	state, err := h.State(ctx)
	if err != nil || state != host.StateOff || !h.folder.IsAbandoned() {
		return nil // the host may answer later
	}
	if err := h.supervisorError(); err != nil {
		return err
	}
	events, err := h.PowerLog()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	end, rest := "", ""
	if len(events) > 0 {
		end, rest, _ = strings.Cut(events[len(events)-1].Text, " ")
	}
	switch end {
	case host.FailEvent:
		return fmt.Errorf("its supervisor ended: %s", rest)
	case host.ExitEvent:
		return fmt.Errorf("the host ended with status %s; %s", rest, h.consoleTail())
	}
	return errors.New("its supervisor ended without a message")
}

func (h *Host) consoleTail() string {
	const maxLines = 15
	raw, err := os.ReadFile(h.folder.Console())
	if err != nil {
		return fmt.Sprintf("the console log cannot be read: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return "the end of " + h.folder.Console() + ":\n" + textutil.Printable(textutil.Secrets{}.KeepTail(strings.Join(lines[max(0, len(lines)-maxLines):], "\n"), 4000))
}
