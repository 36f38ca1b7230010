package scenario

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// limitTime ends the commands of the scenario after this time, or when its context has ended.
func (s *stage) limitTime(d time.Duration) {
	ctx, cancel := context.WithTimeout(s.ctx, d)
	stop := context.AfterFunc(ctx, s.killCommands)
	before := s.cancel
	s.ctx, s.cancel = ctx, func() {
		stop()
		cancel()
		before()
	}
}

// killCommands kills the command that the scenario is waiting for, and each one after it, until the scenario has ended. testscript
// cannot end a command. Those of another scenario run in another folder.
func (s *stage) killCommands() {
	for {
		for _, pid := range listBelow(os.Getpid(), s.work) {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
		select {
		case <-s.ended:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// listBelow returns the children of a process whose working folder is dir or below it, and all their descendants, wherever these are.
func listBelow(parent int, dir string) []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if up, ok := readParent(path); ok {
			children[up] = append(children[up], pid)
		}
	}
	var found []int
	for _, pid := range children[parent] {
		if cwd, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd"); err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) {
			found = append(found, pid)
		}
	}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// readParent reads a file /proc/PID/stat: the number, the name in parentheses, the state and the parent.
func readParent(path string) (pid int, ok bool) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, false // it has ended
	}
	text := string(raw)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	pid, err = strconv.Atoi(fields[1])
	return pid, err == nil
}
