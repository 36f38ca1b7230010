// Package remote is one host over SSH: it runs scripts, streams data to them, tunnels connections out of the host and forwards
// connections back. It knows nothing of plans, etcd or ostree, and it never retries: the caller decides
// about a lost connection.
//
// A Dialer turns a Target into a Host. A Host is one TCP connection that lives as long as the run; every Run, Dial and Listen is
// a channel inside it. Host keys are always checked against known_hosts; there is no way to switch that off.
//
// # Scripts
//
// The command line a host sees is one of three constants; scripts, data and passwords travel on standard input, so that none of
// them shows in a process list or in sudo's log. A script runs with LC_ALL=C and starts only after it arrived whole. Where the
// connection breaks while a script runs (Lost, Timeout, Canceled), the script may go on running on the host.
//
// # ssh_config
//
// ~/.ssh/config is read (or the file Target.Config names; not /etc/ssh/ssh_config) and looked up with Target.Address, as
// `ssh ADDRESS` would. The Target's values win. Honored: Host, Match all, Match host (one pattern), Include, HostName, Port,
// User, IdentityFile (also FILE-cert.pub beside it), IdentityAgent, IdentitiesOnly, ProxyJump, UserKnownHostsFile,
// GlobalKnownHostsFile, HostKeyAlias, ConnectTimeout, ServerAliveInterval and ServerAliveCountMax; the tokens %% %d %h %n %p %r
// %u, ~ and ${VAR} in file names. So are the options that restrict: RevokedHostKeys (text files), HostKeyAlgorithms,
// CASignatureAlgorithms, PubkeyAcceptedAlgorithms, Ciphers, MACs, KexAlgorithms, RequiredRSASize and AddressFamily; they never make
// more than the defaults acceptable. Refused, because going on without them would connect elsewhere than ssh does, or where ssh
// would not: other Match criteria, ProxyCommand, key revocation lists, RefuseConnection, PubkeyAuthentication no, and
// PreferredAuthentications without publickey. Warned of: CheckHostIP, CanonicalizeHostname, BindAddress and BindInterface. Without
// effect: everything else, StrictHostKeyChecking, VerifyHostKeyDNS and ForwardAgent in particular.
//
// Connections to jump hosts are shared by hosts that would make the very same one: with the same user, keys, known_hosts and options.
//
// # Differences from OpenSSH
//
// Jump hosts use the Target's identities and known_hosts as well as their own stanza of ssh_config. An encrypted key is only
// tried if there are Secrets to unlock it. SHA-1 signatures (ssh-rsa) and DSA are not accepted from hosts.
package remote
