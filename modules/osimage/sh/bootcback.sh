restore_previous() { bootc rollback; }
restore_running() { bootc rollback; } # if another OS is the default, it always puts the running one on top (deploy.rs of 1.16)
drop_staged() { ostree admin undeploy 0; } # a staged deployment is always the first
