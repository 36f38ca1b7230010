package bastion

import (
	"strings"
	"testing"
	"time"
)

// TestPasswordCommandLimit checks that a password command that never ends is
// stopped at its limit.
func TestPasswordCommandLimit(t *testing.T) {
	t.Parallel()
	s := &Secrets{limit: 100 * time.Millisecond, turn: make(chan struct{}, 1)}
	_, err := s.runPasswordCommand(t.Context(), "sleep 600 & sleep 600")
	if err == nil || !strings.Contains(err.Error(), "become_password_command: it has not ended within 100ms") {
		t.Error(err)
	}
}
