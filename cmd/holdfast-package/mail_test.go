package main

import (
	"bufio"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMailOfTheRun runs the script of playbooks/cron.md that sends a mail, with the real curl and with a mail server of this test. Like
// the unit, it gives setuid and setgid programs no rights.
func TestMailOfTheRun(t *testing.T) {
	for _, tool := range []string{"curl", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	script := exampleScript(t)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mails := make(chan string, 1)
	go func() {
		defer close(mails)
		if conn, err := server.Accept(); err == nil {
			mails <- receiveMail(conn)
		}
	}()
	defer func() { _ = server.Close() }()
	bin := t.TempDir()
	if err := writeFile(filepath.Join(bin, "holdfast"), []byte("#!/bin/sh\necho \"<p>$*</p>\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(exit string) {
		cmd := exec.CommandContext(t.Context(), "setpriv", "--no-new-privs", "sh", "-c", strings.ReplaceAll(script, "smtp://mail.berlin.example", "smtp://"+server.Addr().String()))
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOLDFAST_SITE=berlin", "HOLDFAST_RUN=20261127-023000-ab", "HOLDFAST_EXIT=" + exit}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	run("0") // no mail
	run("3")
	_ = server.Close() // if nothing has connected, there is no mail
	checkMail(t, <-mails)
}

// exampleScript returns the script of the page that sends a mail.
func exampleScript(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../playbooks/cron.md")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(page), "```sh\n") {
		if script, _, _ := strings.Cut(block, "```"); strings.HasPrefix(script, "#!/bin/sh") && strings.Contains(script, "smtp://") {
			return script
		}
	}
	t.Fatal("the page has no script that sends a mail")
	return ""
}

// receiveMail receives one mail by SMTP.
func receiveMail(conn net.Conn) string {
	defer func() { _ = conn.Close() }()
	reply := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") } // curl reports its end
	lines := textproto.NewReader(bufio.NewReader(conn))
	reply("220 test")
	for {
		line, err := lines.ReadLine()
		switch {
		case err != nil:
			return ""
		case line == "DATA":
			reply("354 go on")
			text, _ := lines.ReadDotBytes()
			reply("250 ok")
			return string(text)
		default:
			reply("250 ok")
		}
	}
}

// checkMail checks that a mail program shows the page of the run as HTML.
func checkMail(t *testing.T, text string) {
	t.Helper()
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got := message.Header.Get("Subject"); got != "holdfast: berlin ended with 3" {
		t.Errorf("subject: %s", got)
	}
	if _, err := message.Header.Date(); err != nil {
		t.Error(err)
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	part, err := multipart.NewReader(message.Body, parameters["boundary"]).NextPart()
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
	if kind := part.Header.Get("Content-Type"); err != nil || !strings.HasPrefix(kind, "text/html") || string(page) != "<p>report 20261127-023000-ab --out -</p>\n" {
		t.Errorf("%s: %v: %s", kind, err, page)
	}
	if name := part.FileName(); name != "20261127-023000-ab.html" {
		t.Errorf("it is attached as %q", name)
	}
}
