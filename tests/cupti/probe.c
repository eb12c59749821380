/* Prints where CUPTI's headers put what hodo reads: a line `NAME NUMBER` each. The names are those of
 * hodo's own constants. Of each record the newest struct of the version is taken, which is what the
 * library writes. */
#include <stddef.h>
#include <stdio.h>

#include <cuda.h>
#include <cupti.h>

/* The newest structs of this header, as fetch.py found them. */
typedef KERNEL Kernel;
typedef MEMCPY Memcpy;
typedef MEMSET Memset;
typedef SYNCHRONIZATION Sync;
typedef MEMORY Memory;
typedef MEMCPYPTOP Peer;
typedef CUpti_ActivityAPI Api;

#define AT(name, type, field) printf(name " %zu\n", offsetof(type, field))
#define SIZE(name, type) printf(name " %zu\n", sizeof(type))
#define CODE(name, value) printf(name " %d\n", (int)(value))

int main(void) {
  CODE("version", CUPTI_API_VERSION);
  SIZE("size.10", Kernel);
  SIZE("size.1", Memcpy);
  SIZE("size.2", Memset);
  SIZE("size.22", Peer);
  SIZE("size.38", Sync);
  SIZE("size.49", Memory);
  SIZE("size.4", Api);
  SIZE("size.5", Api);

  AT("kernel.REGISTERS", Kernel, registersPerThread);
  AT("kernel.START", Kernel, start);
  AT("kernel.END", Kernel, end);
  AT("kernel.DEVICE", Kernel, deviceId);
  AT("kernel.CONTEXT", Kernel, contextId);
  AT("kernel.STREAM", Kernel, streamId);
  AT("kernel.GRID", Kernel, gridX);
  AT("kernel.GRID+8", Kernel, gridZ);
  AT("kernel.BLOCK", Kernel, blockX);
  AT("kernel.BLOCK+8", Kernel, blockZ);
  AT("kernel.STATIC_SHARED", Kernel, staticSharedMemory);
  AT("kernel.DYNAMIC_SHARED", Kernel, dynamicSharedMemory);
  AT("kernel.LOCAL", Kernel, localMemoryPerThread);
  AT("kernel.CORRELATION", Kernel, correlationId);
  AT("kernel.NAME", Kernel, name);
  AT("kernel.GRAPH_NODE", Kernel, graphNodeId);
  AT("kernel.GRAPH", Kernel, graphId);

  AT("transfer.DIRECTION", Memcpy, copyKind);
  AT("transfer.FROM", Memcpy, srcKind);
  AT("transfer.TO", Memcpy, dstKind);
  AT("transfer.FLAGS", Memcpy, flags);
  AT("transfer.SET_FLAGS", Memset, flags);
  AT("transfer.SET_MEMORY", Memset, memoryKind);
#define COMMON(type)                          \
  AT("transfer.BYTES", type, bytes);          \
  AT("transfer.START", type, start);          \
  AT("transfer.END", type, end);              \
  AT("transfer.DEVICE", type, deviceId);      \
  AT("transfer.CONTEXT", type, contextId);    \
  AT("transfer.STREAM", type, streamId)
  COMMON(Memcpy);
  COMMON(Memset);
  COMMON(Peer);
#define CAUSE(type)                                  \
  AT("transfer.CORRELATION", type, correlationId);   \
  AT("transfer.GRAPH_NODE", type, graphNodeId);      \
  AT("transfer.GRAPH", type, graphId)
  CAUSE(Memcpy);
  CAUSE(Memset);
  AT("transfer.DIRECTION", Peer, copyKind);
  AT("transfer.FROM", Peer, srcKind);
  AT("transfer.TO", Peer, dstKind);
  AT("transfer.FLAGS", Peer, flags);
  AT("transfer.PEER_CORRELATION", Peer, correlationId);
  AT("transfer.PEER_GRAPH_NODE", Peer, graphNodeId);
  AT("transfer.PEER_GRAPH", Peer, graphId);

  AT("sync.WHAT", Sync, type);
  AT("sync.START", Sync, start);
  AT("sync.END", Sync, end);
  AT("sync.CORRELATION", Sync, correlationId);
  AT("sync.CONTEXT", Sync, contextId);
  AT("sync.STREAM", Sync, streamId);

  AT("memory.OPERATION", Memory, memoryOperationType);
  AT("memory.MEMORY", Memory, memoryKind);
  AT("memory.CORRELATION", Memory, correlationId);
  AT("memory.ADDRESS", Memory, address);
  AT("memory.BYTES", Memory, bytes);
  AT("memory.TIME", Memory, timestamp);
  AT("memory.DEVICE", Memory, deviceId);
  AT("memory.CONTEXT", Memory, contextId);
  AT("memory.STREAM", Memory, streamId);

  AT("call.START", Api, start);
  AT("call.THREAD", Api, threadId);
  AT("call.CORRELATION", Api, correlationId);

  SIZE("callback.SIZE", CUpti_CallbackData);
  AT("callback.SITE", CUpti_CallbackData, callbackSite);
  AT("callback.RETURNED", CUpti_CallbackData, functionReturnValue);
  AT("callback.CORRELATION", CUpti_CallbackData, correlationId);
  AT("resource.DESCRIPTOR", CUpti_ResourceData, resourceDescriptor);
  AT("graph.NODE", CUpti_GraphData, node);
  AT("graph.ORIGINAL_NODE", CUpti_GraphData, originalNode);

  CODE("site.ENTER", CUPTI_API_ENTER);
  CODE("result.MAX_LIMIT_REACHED", CUPTI_ERROR_MAX_LIMIT_REACHED);
  CODE("result.NOT_COMPATIBLE", CUPTI_ERROR_NOT_COMPATIBLE);
  CODE("result.NOT_INITIALIZED", CUPTI_ERROR_NOT_INITIALIZED);
  CODE("result.INVALID_KIND", CUPTI_ERROR_INVALID_KIND);
  CODE("result.INSUFFICIENT_PRIVILEGES", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  CODE("result.MULTIPLE_SUBSCRIBERS", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  CODE("result.VIRTUALIZED_PRIVILEGES", CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
  CODE("kind.MEMCPY", CUPTI_ACTIVITY_KIND_MEMCPY);
  CODE("kind.MEMSET", CUPTI_ACTIVITY_KIND_MEMSET);
  CODE("kind.DRIVER", CUPTI_ACTIVITY_KIND_DRIVER);
  CODE("kind.RUNTIME", CUPTI_ACTIVITY_KIND_RUNTIME);
  CODE("kind.DEVICE", CUPTI_ACTIVITY_KIND_DEVICE);
  CODE("kind.CONCURRENT_KERNEL", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  CODE("kind.MEMCPY2", CUPTI_ACTIVITY_KIND_MEMCPY2);
  CODE("kind.SYNCHRONIZATION", CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  CODE("kind.MEMORY2", CUPTI_ACTIVITY_KIND_MEMORY2);
  CODE("domain.DRIVER", CUPTI_CB_DOMAIN_DRIVER_API);
  CODE("domain.RESOURCE", CUPTI_CB_DOMAIN_RESOURCE);
  CODE("resource.MODULE_LOADED", CUPTI_CBID_RESOURCE_MODULE_LOADED);
  CODE("resource.GRAPH_NODE_CREATED", CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
  CODE("resource.GRAPH_NODE_CLONED", CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
  CODE("attribute.ZEROED_BUFFER", CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
#if CUPTI_API_VERSION >= 20
  CODE("domain.STATE", CUPTI_CB_DOMAIN_STATE);
  CODE("STATE_FATAL_ERROR", CUPTI_CBID_STATE_FATAL_ERROR);
#endif
#if CUPTI_API_VERSION >= 21
  CODE("attribute.PER_THREAD_BUFFER", CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
#endif
  CODE("attribute.DEVICE_BUFFER_BYTES", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
  CODE("attribute.DEVICE_BUFFER_LIMIT", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
  CODE("thread_id.SYSTEM", CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  CODE("memory.RELEASED", CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  CODE("transfer.ASYNC", CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
  CODE("set.ASYNC", CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);
  return 0;
}
