package resource

// Record is the record of the configuration that holdfast applied to a host.
// Its configurations are compact.
type Record struct {
	Schema     int              `json:"schema"`
	Config     Config           `json:"config"`
	Existed    []string         `json:"existed,omitempty"` // directories of Config that the host had before; they stay when the configuration no longer has them
	Unfinished *UnfinishedWrite `json:"unfinished,omitempty"`

	// Accounts maps accounts to their origins: users by name, groups as
	// "group/NAME". The origin of an account that is in Config and not in this
	// map is not known.
	Accounts map[string]AccountOrigin `json:"accounts,omitempty"`

	// Joined maps users to the groups that holdfast has added to them. Groups
	// that a user had before are not in it, so holdfast never takes them away.
	Joined map[string][]string `json:"joined,omitempty"`

	// AddedArgs lists the kernel arguments that holdfast has added. Arguments
	// that the host had before are not in it, so holdfast never takes them away
	// when they leave the configuration.
	AddedArgs []string `json:"added_args,omitempty"`
}

// RecordSchema is the version of a record's JSON. It only increases. holdfast
// refuses a record of another version.
const RecordSchema = 1

// AccountOrigin is the origin of an account.
type AccountOrigin string

// The origins of accounts. An account that holdfast made has no original: when
// the configuration no longer has it, holdfast locks it and keeps it in
// Record.Accounts.
const (
	FoundAccount AccountOrigin = "found" // the host had the account before holdfast
	MadeAccount  AccountOrigin = "made"  // holdfast made the account
)

// UnfinishedWrite is a configuration that a run may have written in part, and
// that has not taken effect as a whole.
type UnfinishedWrite struct {
	Run          string   `json:"run"`                      // ID of the run that writes it
	Boot         BootID   `json:"boot"`                     // boot during the write; after another boot of the kernel, everything that was written has taken effect
	SoftIsEnough bool     `json:"soft_is_enough,omitempty"` // a soft reboot is enough for everything in Touched to take effect
	Config       Config   `json:"config"`                   // configuration that the run writes
	Touched      []string `json:"touched,omitempty"`        // names of the resources that writes have changed since the last record; they may or may not have taken effect
	Ours         []string `json:"ours,omitempty"`           // paths that holdfast managed before the write began; the write keeps or removes them
	Appended     []File   `json:"appended,omitempty"`       // text that unfinished writes appended, or tried to append, to files of the host
	FailedAction string   `json:"failed_action,omitempty"`  // action that failed, so that the host needs a reboot

	// Restarts maps services that run on during soft reboots to the boot of a write after which they must restart: a soft
	// reboot does not bring that write into effect for them.
	Restarts map[string]BootID `json:"restarts,omitempty"`
}

// MustRestart reports whether a service that runs on during soft reboots has not restarted since a write, although the host
// has soft rebooted for it.
func (u *UnfinishedWrite) MustRestart(unit string, now BootID) bool {
	return u != nil && now.IsSoftRebootOf(u.Restarts[unit])
}
