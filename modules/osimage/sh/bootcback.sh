restore_previous() { bootc rollback; }
restore_running() { bootc rollback; } # it swaps the two
drop_staged() { ostree admin undeploy 0; } # a staged deployment is always the first
