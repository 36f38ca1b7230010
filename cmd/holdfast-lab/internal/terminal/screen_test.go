package terminal

import (
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestScreen compares the text on the screen with the text that an xterm shows, also if the output arrives byte by byte.
func TestScreen(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"a\r\nb\r\n":            "a\nb\n",
		"panel\r\x1b[Jquestion": "question\n",
		"one\r\ntwo\r\nthree\x1b[2A\x1b[K\x1b[1mX":     "one  X\ntwo\nthree\n",
		"a\r\nb\r\nc\x1b[H\x1b[2L":                     "\n\na\nb\nc\n",
		"a\r\nb\r\nc\x1b[1;1H\x1b[M":                   "b\nc\n",
		"abcdef\x1b[3G\x1b[2X":                         "ab  ef\n",
		"abcdef\x1b[3G\x1b[2P":                         "abef\n",
		"abcdef\x1b[3G\x1b[2@":                         "ab  cdef\n",
		"abc\x1b[2Dx\tz":                               "axc     z\n",
		"\x1b[?25l\x1b[38;5;10m…é\x1bM\x1b[0m":         "…é\n",
		"a\r\nbcd\x1b[ZX\x1bMY":                        "aY\nXcd\n",
		"a\r\nb\x1b[1J":                                "\n",
		"a\r\nb\x1b[2Jc":                               "\n c\n",
		strings.Repeat("x", 81):                        strings.Repeat("x", 80) + "\nx\n",
		strings.Repeat("l\r\n", 30) + "\x1b[99A\x1b[J": strings.Repeat("l\n", 7),
		"\x1b[9999dend":                                strings.Repeat("\n", 23) + "end\n",
	} {
		var whole, bytewise Screen
		_, _ = io.WriteString(&whole, sent)
		for i := range len(sent) {
			_, _ = bytewise.Write([]byte(sent[i : i+1]))
		}
		if got := whole.Text(); got != want || bytewise.Text() != want {
			t.Errorf("%q shows %q, byte by byte %q, not %q", sent, got, bytewise.Text(), want)
		}
	}
}

// TestPair checks that a program finds a terminal of 24 lines and 80 columns, and gets typed input.
func TestPair(t *testing.T) {
	t.Parallel()
	person, tty, err := OpenPair()
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	cmd := exec.Command("sh", "-c", `stty size; read -r line && echo "read $line"`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	if _, err := person.WriteString("yes\n"); err != nil {
		t.Error(err)
	}
	var s Screen
	_, _ = io.Copy(&s, person) // ends when the program has ended
	err = cmd.Wait()
	if got := s.Text(); err != nil || !strings.Contains(got, "24 80\n") || !strings.Contains(got, "read yes\n") {
		t.Errorf("%v: %q", err, got)
	}
	_ = person.Close()
}
