package remote

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Command is one script to run on a host.
type Command struct {
	// Script is POSIX sh. It may be long, but contains no NUL. It runs in the user's home directory, without arguments;
	// its $0 is "sh", and its standard input is Stdin.
	Script string
	// Become runs the script as root through sudo. It needs Target.Become, unless the user is root already.
	Become bool
	// Stdin is sent unchanged after the script has started. If Stdin is an io.Closer, Run closes it, also when the
	// script ends early, so that the writer of a pipe gets an error. After an error, Stdin must not be used again. A
	// nil Stdin has no data.
	Stdin io.Reader
	// Stdout is called with each chunk of standard output as it arrives, one call at a time and never after Run has
	// returned. It must not keep the slice. While Stdout runs, Run reads no more output, which slows down the script.
	Stdout func([]byte)
	// MaxOutput bounds standard output and standard error together, in bytes; default 4 MiB. If a script prints more,
	// Run closes its session at once and returns an error of kind TooMuch.
	MaxOutput int64
	// Timeout ends the command with an *Error of kind Timeout. With 0, only the context ends the command. Waiting for a
	// free session of the host and for a person to enter a password counts.
	Timeout time.Duration
}

// Result is the output of a script and its exit status.
type Result struct {
	Stdout, Stderr string // untrusted: see textutil.Printable
	Code           int    // exit status; 128 + number if a signal ended the shell
	Signal         string // the signal's name without SIG, or ""
}

// The command lines are constant; a script follows on standard input as "LENGTH\nSCRIPT". The launcher prints readyWord
// on both outputs before the script starts. Output before readyWord is from a login shell or sudo, and without
// readyWord the exit status is theirs. dd with fullblock reads exactly the length of the script and leaves the rest of
// the input to the script. A script that did not arrive whole lacks its last line and does not start.
const (
	readyWord      = "holdfast-ready"
	passwordPrompt = "holdfast-password:"
	lastLine       = "#holdfast-end"
	launcher       = `echo ` + readyWord + `; echo ` + readyWord + ` >&2; ` +
		`IFS= read -r n || exit 125; s=$(dd bs="$n" count=1 iflag=fullblock 2>/dev/null) || ` +
		`{ echo "dd of coreutils does not run: it is missing, or sudoers has noexec for this account" >&2; exit 125; }; ` +
		`case $s in *"` + lastLine + `") ;; *) echo "the script did not arrive whole" >&2; exit 125;; esac; eval "unset n s; $s"`

	lineUser     = `exec env LC_ALL=C sh -c '` + launcher + `'`
	lineSudo     = `exec env LC_ALL=C sudo -n -- sh -c '` + launcher + `'`
	linePassword = `exec env LC_ALL=C sudo -S -p ` + passwordPrompt + ` -- sh -c '` + launcher + `'`
)

func (c Command) encodeScript() []byte {
	const end, maxDigits = "\n" + lastLine, 20
	text := make([]byte, 0, maxDigits+len("\n")+len(c.Script)+len(end))
	text = strconv.AppendInt(text, int64(len(c.Script)+len(end)), 10)
	text = append(append(text, '\n'), c.Script...)
	return append(text, end...)
}

// checkCommand returns an error, and advice or "", if the command cannot run at an endpoint.
func (c Command) checkCommand(ep endpoint) (hint string, err error) {
	switch {
	case strings.Contains(c.Script, "\x00"):
		return "", errors.New("the script contains a NUL byte")
	case strings.TrimSpace(c.Script) == "":
		return "", errors.New("the script is empty")
	case c.Become && !ep.Become && ep.User != "root":
		return `set become = "sudo" in the ssh block`, fmt.Errorf("%s is not root", ep.User)
	}
	return "", nil
}
