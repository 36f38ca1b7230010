package change

// Script is a POSIX sh script for a host. It runs as root.
type Script struct {
	Purpose Purpose
	Text    string
}

// Purpose is the reason for which a run sends a script to a host. Simulated hosts act on it. Scripts about holds have the
// purposes of package hold.
type Purpose string

// The purposes of scripts.
const (
	ProbeHost     Purpose = "look"       // reads the state of the host
	CheckNewHost  Purpose = "preflight"  // checks a host that should get a member
	AskVersion    Purpose = "version"    // asks the etcd of the host for its version
	RecordChange  Purpose = "record"     // notes on the host that its member changes
	EndChange     Purpose = "forget"     // removes that note
	StartEtcd     Purpose = "start etcd" // sets etcd up and starts it
	ConfigureEtcd Purpose = "configure"  // writes other settings and restarts etcd
	SetDataAside  Purpose = "set aside"  // stops etcd and renames its data directory
)

// The purposes of scripts of a restore.
const (
	CheckTools      Purpose = "check tools"   // checks that the host can restore a database
	OpenRoom        Purpose = "open room"     // stops etcd, and makes the folder of the restore
	ReceiveSnapshot Purpose = "receive"       // takes a snapshot from the bastion
	CopyDatabase    Purpose = "copy database" // copies the database of the stopped etcd
	BuildData       Purpose = "build data"    // makes the new data
	CompleteData    Purpose = "complete data" // notes that the new data are complete
	NoteReplaced    Purpose = "note replaced" // notes which clusters are replaced
	ReplaceData     Purpose = "replace data"  // replaces the old data with the new data
	ReadDatabase    Purpose = "read database" // prints a part of a database
)

// The purposes of scripts for certificates.
const (
	ReadCertificates  Purpose = "read certificates"  // prints the certificates of the host
	MakeKeys          Purpose = "make keys"          // makes keys, and prints requests for them
	PlaceCertificates Purpose = "place certificates" // puts certificates in place
	TrustCAs          Purpose = "trust CAs"          // writes the trusted CAs and restarts etcd
)
