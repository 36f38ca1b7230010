package resource

import "testing"

func TestResolve(t *testing.T) {
	links := Links{"/home": "/var/home", "/usr/local": "/var/usrlocal", "/a": "/b", "/b": "/a", "/top": "/"}
	for from, want := range map[string]string{
		"/home/x": "/var/home/x", "/home": "/home", "/homes/x": "/homes/x", "/usr/local/bin/x": "/var/usrlocal/bin/x", "/usr/lib/x": "/usr/lib/x",
		"/usr/local": "/usr/local", "/": "/", "": "", "/a/x": "/a/x", "/top/x": "/x", "/home/home/x": "/var/home/home/x",
	} {
		if got := links.Resolve(from); got != want {
			t.Errorf("%s leads to %s, want %s", from, got, want)
		}
	}
	if got := links.ResolveDir("/home"); got != "/var/home" {
		t.Errorf("the directory /home is %s", got)
	}
	for target, want := range map[string]string{"var/home": "/var/home", "../var/x/": "/var/x", "/x": "/x"} {
		if got := ParseLink("/home", target); got != want {
			t.Errorf("a link to %s leads to %s, want %s", target, got, want)
		}
	}
}
