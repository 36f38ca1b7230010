# Ends a change. A host that has founded a cluster joins from then on: without its data,
# its etcd would found another.
remove_room
if grep -qxF ETCD_INITIAL_CLUSTER_STATE=new "$settings" 2>/dev/null; then
	sed 's/^ETCD_INITIAL_CLUSTER_STATE=new$/ETCD_INITIAL_CLUSTER_STATE=existing/' "$settings" >"$settings.new"
	sync "$settings.new"
	mv -fT "$settings.new" "$settings"
fi
rm -f "$record"
sync "$state"
