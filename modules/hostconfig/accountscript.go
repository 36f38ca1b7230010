package hostconfig

import (
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// accountList holds the script lines that change groups and users.
type accountList struct {
	any                                              bool
	originals, groups, users, keys, keysBack, remove []string
	removedKeysBack                                  []string
}

func newAccountList(w hostWrite) accountList {
	var a accountList
	for _, g := range w.groups {
		a.addGroup(g)
	}
	for i, u := range w.users {
		a.any = a.any || u.account || u.password || u.retire || u.revive || len(u.join)+len(u.part) > 0
		if u.keys {
			a.addKeys(u, strconv.Itoa(i))
		}
		a.users = append(a.users, userLines(u)...)
		if u.keep {
			a.originals = append(a.originals, "keep_password shadow "+hostscript.Quote(u.want.Name))
		}
	}
	for _, u := range w.users {
		if u.retire {
			a.keys = append(a.keys, "report_sessions "+hostscript.Quote(u.want.Name))
		}
	}
	return a
}

// addKeys adds the lines that write the keys of a user. n is the number of the user. The keys of a removed user go before the
// user: later, nobody could remove them with the rights of the user, and they would be valid for a new user of this name.
func (a *accountList) addKeys(u loginEdit, n string) {
	name := hostscript.Quote(u.want.Name)
	write := []string{"keysdone=\"$keysdone " + n + " \"", "write_ssh_keys " + name + " \"$tx/new/keys-" + n + "\""}
	back := "case $keysdone in *' " + n + " '*) (write_ssh_keys " + name + " \"$tx/new/oldkeys-" + n + "\") 2>/dev/null || kept=\"$kept, SSH keys of \"" + name + " ;; esac"
	switch {
	case u.want.Account.Absent:
		a.users = append(append(a.users, "find_keys_place"), write...)
		a.removedKeysBack = append(a.removedKeysBack, back)
	case u.was != nil:
		a.keysBack = append(a.keysBack, back)
		fallthrough
	default:
		a.keys = append(a.keys, write...)
	}
}

func (a *accountList) addGroup(g groupEdit) {
	a.any = true
	name := hostscript.Quote(g.want.Name)
	if g.want.Absent {
		a.remove = append(a.remove, "remove_group "+name)
		return
	}
	if line := groupLine(g); line != "" && !g.leaves {
		a.groups = append(a.groups, line)
	}
	if g.keep {
		a.originals = append(a.originals, "keep_password gshadow "+name)
	}
	switch {
	case g.want.PasswordHash != "":
		a.groups = append(a.groups, "set_password chgpasswd "+name+" \"$tx/new/"+g.want.PasswordHash+"\"")
	case g.back:
		a.groups = append(a.groups, "restore_password gshadow "+name)
	case g.lock:
		a.groups = append(a.groups, "lock_password gshadow "+name)
	}
}

func (a accountList) shellFunctions() string {
	function := func(name string, lines ...string) string {
		return name + "() {\n:\n" + strings.Join(append(lines, "}"), "\n") + "\n"
	}
	place := []string{}
	if len(a.keys) > 0 {
		place = append(place, "find_keys_place")
	}
	return function("keep_hashes", a.originals...) + function("change_groups", a.groups...) + function("change_users", slices.Concat(a.users, a.remove)...) +
		function("write_keys", slices.Concat(place, a.keys)...) + function("restore_keys", a.keysBack...) + function("restore_removed_keys", a.removedKeysBack...) +
		"haskeys='" + yesIf(len(a.keysBack)+len(a.removedKeysBack) > 0) + "'\n"
}

func quoteWords(list []string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(" " + hostscript.Quote(s))
	}
	return b.String()
}

func accountCommand(name, command string, args ...string) string {
	return "change_account " + hostscript.Quote(name) + " " + command + quoteWords(args) + " -- " + hostscript.Quote(name)
}

func groupLine(g groupEdit) string {
	var args []string
	if g.want.GID != nil {
		args = append(args, "-g", strconv.Itoa(*g.want.GID))
	}
	if g.exists {
		if len(args) == 0 {
			return ""
		}
		return accountCommand(g.want.Name, "groupmod", args...)
	}
	if g.want.System {
		args = append(args, "-r")
	}
	return accountCommand(g.want.Name, "groupadd", args...)
}

func userLines(u loginEdit) []string {
	name := u.want.Name
	var list []string
	if u.account && u.want.Account.Absent {
		if u.was != nil {
			list = append(list, accountCommand(name, "userdel"))
		}
		return list
	}
	quoted := hostscript.Quote(name)
	if u.retire {
		return append(append(list, "retire_account "+quoted), membershipLines(u)...)
	}
	if u.revive {
		list = append(list, accountCommand(name, "usermod", "-e", ""))
	}
	fresh := u.account && u.was == nil
	if home := u.want.Account.HomeDir; fresh && home != "" && !u.want.Account.NoCreateHome {
		list = append(list, "check_home "+quoted+" "+hostscript.Quote(home))
	}
	if fresh {
		list = append(list, accountCommand(name, "useradd", useraddOptions(u.want.Account)...))
	} else if args := usermodOptions(u); u.account && len(args) > 0 {
		list = append(list, accountCommand(name, "usermod", args...))
	}
	list = append(list, membershipLines(u)...)
	switch {
	case fresh && u.want.PasswordHash == "":
		// Without a password, sshd regards the account as locked, and refuses its
		// keys, too.
		list = append(list, "lock_password shadow "+quoted)
	case fresh:
		list = append(list, "set_password chpasswd "+quoted+" \"$tx/new/"+u.want.PasswordHash+"\"")
	case u.back:
		list = append(list, "restore_password shadow "+quoted)
	case u.password && u.want.PasswordHash == "":
		list = append(list, "lock_password shadow "+quoted)
	case u.password:
		list = append(list, "set_password chpasswd "+quoted+" \"$tx/new/"+u.want.PasswordHash+"\"")
	}
	return list
}

func useraddOptions(a resource.Account) []string {
	args := sharedUserOptions(a)
	if a.UID != nil {
		args = append(args, "-u", strconv.Itoa(*a.UID))
	}
	for _, o := range []struct {
		is  bool
		opt string
	}{{!a.NoCreateHome, "-m"}, {a.NoCreateHome, "-M"}, {a.NoUserGroup, "-N"}, {a.NoLogInit, "-l"}, {a.System, "-r"}} {
		if o.is {
			args = append(args, o.opt)
		}
	}
	return args
}

func usermodOptions(u loginEdit) []string {
	a := u.want.Account
	if a.PrimaryGroup == u.was.Group {
		a.PrimaryGroup = ""
	}
	if a.Gecos == u.was.Gecos {
		a.Gecos = ""
	}
	if a.HomeDir == u.was.Home {
		a.HomeDir = ""
	}
	if a.Shell == u.was.Shell {
		a.Shell = ""
	}
	args := sharedUserOptions(a)
	if a.UID != nil && *a.UID != u.was.UID {
		args = append(args, "-u", strconv.Itoa(*a.UID))
	}
	return args
}

func sharedUserOptions(a resource.Account) []string {
	var args []string
	for _, o := range [][2]string{{"-g", a.PrimaryGroup}, {"-c", a.Gecos}, {"-d", a.HomeDir}, {"-s", a.Shell}} {
		if o[1] != "" {
			args = append(args, o[0], o[1])
		}
	}
	return args
}
