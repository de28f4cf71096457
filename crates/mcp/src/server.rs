//! The server of one client: answers the SDK from the catalogue and by [`Tools`].
#![expect(
    deprecated,
    reason = "MCP drops log messages in 2026-07-28 and has nothing else for this; clients show them"
)]

use crate::handle::{Handle, Quiet};
use crate::receipts::Receipts;
use crate::{Tools, call, catalog};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, ErrorData, InitializeRequestParams,
    InitializeResult, InitializeResultMethod, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerConfig,
    SetLevelRequestMethod, SetLevelRequestParams, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The relation between a client's requests.
#[derive(Debug, Clone)]
pub(crate) enum Bond {
    /// The requests share a connection.
    Connection,
    /// The requests share a session that `initialize` begins: a version without sessions cannot be used in it.
    Session,
    /// The requests are independent; each holds the mark while it is in progress.
    Request {
        /// Keeps the shared tools in use.
        #[expect(dead_code, reason = "it is there to be dropped")]
        mark: Arc<()>,
    },
}

/// The server of one client.
pub(crate) struct Server<T> {
    tools: T,
    bond: Bond,
    quiet: Quiet,
    /// True once the client has said that it is ready. Repeating that has no effect.
    ready: AtomicBool,
}

impl<T: Tools> Server<T> {
    pub(crate) fn new(tools: T, bond: Bond) -> Self {
        Self { tools, bond, quiet: Quiet::default(), ready: AtomicBool::new(false) }
    }
}

impl<T: Tools> ServerHandler for Server<T> {
    fn get_info(&self) -> ServerConfig {
        // Log messages are offered only to clients that stay connected.
        catalog::server(self.tools.terms(), !matches!(self.bond, Bond::Request { .. }))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(match &self.bond {
            Bond::Connection | Bond::Request { .. } => ProtocolVersion::KNOWN_VERSIONS,
            Bond::Session => ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25),
        })
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(catalog::tools().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        catalog::tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let result = match &*request.name {
            catalog::EXEC => call::exec(&self.tools, arguments, context).await,
            catalog::PROCESS => call::process(&self.tools, arguments, context).await,
            catalog::SESSIONS => call::sessions(&self.tools, arguments, context).await,
            catalog::TASKS => call::tasks(&self.tools, arguments, context).await,
            other => {
                let why = format!("there is no tool {other:?}: there are exec, process, sessions and tasks");
                return Err(ErrorData::invalid_params(why, None));
            }
        };
        result.map(CallToolResponse::from)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if let Bond::Request { .. } = self.bond {
            return Err(ErrorData::method_not_found::<InitializeResultMethod>());
        }
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Bond::Request { .. } = self.bond {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.quiet.set(request.level);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if !self.ready.swap(true, Ordering::Relaxed) {
            self.tools.connected(Handle::new(context.peer, self.quiet.clone()));
        }
    }

    async fn on_cancelled(
        &self,
        cancelled: CancelledNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        // A reply that was ready is no longer sent.
        if let (Some(receipts), Some(id)) = (context.extensions.get::<Receipts>(), cancelled.request_id) {
            receipts.take(&id);
        }
    }
}
