package observe_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/longtest"
	"holdfast/modules/hostconfig/observe/observetest"
)

// A probe follows no link that replaces a graded file, and does not wait for a
// pipe.
func TestLooksAreSafeFromFilesThatWereMissing(t *testing.T) {
	longtest.SkipSlow(t)
	for name, attack := range map[string]string{
		"link": "ln -s $S/root/app.conf $S/srv/app/app.conf",
		"pipe": "mkfifo $S/srv/app/app.conf",
	} {
		t.Run(name, func(t *testing.T) {
			s, c := hostileProbe(t)
			script := strings.NewReplacer("$S", s.Root)
			s.Check(os.Rename(s.Root+"/srv/app/app.conf", s.Root+"/srv/aside"))
			s.WriteFile("/fake/stat", "#!/bin/sh\n"+script.Replace("[ \"$1\" != -f ] || [ ! -e $S/srv/aside ] || mv $S/srv/aside $S/srv/app/app.conf\n")+"exec "+observetest.ToolPath(t, "stat")+" \"$@\"\n", 0o755)
			for _, tool := range []string{"head", "tar"} {
				s.WriteFile("/fake/"+tool, "#!/bin/sh\n"+script.Replace("[ ! -e $S/srv/app/app.conf ] || { rm $S/srv/app/app.conf; "+attack+"; }\n")+"exec "+observetest.ToolPath(t, tool)+" \"$@\"\n", 0o755)
			}
			opened := time.AfterFunc(20*time.Second, func() { // unblocks a probe that waits for the pipe
				t.Error("the look waits for a pipe")
				if f, err := os.OpenFile(s.Root+"/srv/app/app.conf", os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
					_ = f.Close()
				}
			})
			secretFile := s.Root + "/root/app.conf"
			s.Check(os.Chtimes(secretFile, time.Unix(0, 0), time.Time{}))
			_ = s.Read(c)
			opened.Stop()
			info, err := os.Stat(secretFile)
			s.Check(err)
			if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Atim.Sec != 0 {
				t.Error("a file of root's was read")
			}
		})
	}
}
