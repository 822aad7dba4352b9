#include "server/write_progress.h"

#include <errno.h>
/* The kernel's own header: the struct of netinet/tcp.h ends before tcpi_bytes_acked. The two
 * cannot be included together, which is why this is a file of its own. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

int write_progress_bytes(int fd, uint64_t *out)
{
	struct tcp_info info;
	socklen_t length = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
		return -errno;
	if (length < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof(info.tcpi_bytes_acked))
		return -ENOSYS;
	*out = info.tcpi_bytes_acked;
	return 0;
}
