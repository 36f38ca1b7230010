package remote

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Command is one script to run on a host.
type Command struct {
	// Script is POSIX sh. It may be long, but holds no NUL. Its $0 is "sh", it has no arguments, it reads Stdin on its standard
	// input, and it runs in the user's home directory.
	Script string
	// Become runs the script as root through sudo. It needs Target.Become, and does nothing if the user is root already.
	Become bool
	// Stdin is sent unchanged after the script has started, then ends. Run closes it if it is an io.Closer, also when the script
	// ends early, so that the writer of a pipe learns of it. After an error it must not be used again. Nil is no data.
	Stdin io.Reader
	// Stdout is called with each chunk of standard output as it arrives, one call at a time and never after Run returned. It
	// must not keep the slice, and while it does not return the host is slowed down.
	Stdout func([]byte)
	// MaxOutput bounds standard output and standard error together, in bytes; default 4 MiB. A script that prints more is cut off
	// at once: its session is closed, and the error is of kind TooMuch.
	MaxOutput int64
	// Timeout ends the command with an *Error of kind Timeout; 0 is no bound but the context's. Waiting for one of the host's
	// sessions and for a person to enter a password counts.
	Timeout time.Duration
}

// Result is the output of a script and its exit status.
type Result struct {
	Stdout, Stderr string // untrusted: see textutil.Printable
	Code           int    // exit status; 128 + number if a signal ended the shell
	Signal         string // the signal's name without SIG, or ""
}

// The command lines are constant; a script follows on standard input as "LENGTH\nSCRIPT". The launcher prints readyWord on both
// outputs. This separates the script's output from the earlier output of a login shell or sudo, and its exit status from their
// failures. dd with fullblock reads exactly the length of the script and leaves the rest to it. A script that did not arrive whole
// lacks its last line and does not start.
const (
	readyWord      = "holdfast-ready"
	passwordPrompt = "holdfast-password:"
	lastLine       = "#holdfast-end"
	launcher       = `echo ` + readyWord + `; echo ` + readyWord + ` >&2; ` +
		`IFS= read -r n || exit 125; s=$(dd bs="$n" count=1 iflag=fullblock 2>/dev/null); ` +
		`case $s in *"` + lastLine + `") ;; *) echo "the script did not arrive whole" >&2; exit 125;; esac; eval "unset n s; $s"`

	lineUser     = `exec env LC_ALL=C sh -c '` + launcher + `'`
	lineSudo     = `exec env LC_ALL=C sudo -n -- sh -c '` + launcher + `'`
	linePassword = `exec env LC_ALL=C sudo -S -p ` + passwordPrompt + ` -- sh -c '` + launcher + `'`
)

func (c Command) encodeScript() []byte {
	s := c.Script + "\n" + lastLine
	return fmt.Appendf(nil, "%d\n%s", len(s), s)
}

func (c Command) checkCommand(ep endpoint) error {
	switch {
	case strings.Contains(c.Script, "\x00"):
		return errors.New("the script contains a NUL byte")
	case strings.TrimSpace(c.Script) == "":
		return errors.New("the script is empty")
	case c.Become && !ep.Become:
		return errors.New("the command needs root, but the target has no become")
	}
	return nil
}
